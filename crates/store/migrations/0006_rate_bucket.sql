-- Token buckets that fill slowly, shared by the processes of a store and kept over restarts.
CREATE TABLE rate_bucket (
    name TEXT NOT NULL PRIMARY KEY,
    milli_tokens BIGINT NOT NULL,
    remainder BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    -- From then on it is full, and as good as one that was never seen.
    full_ms BIGINT NOT NULL
);
CREATE INDEX rate_bucket_full ON rate_bucket (full_ms);
