-- What callers ran after which searches, as numbers that stand for words.
CREATE TABLE learned (
    principal TEXT NOT NULL PRIMARY KEY,
    habits TEXT NOT NULL,
    updated_ms BIGINT NOT NULL
);

CREATE INDEX learned_by_time ON learned (updated_ms);
