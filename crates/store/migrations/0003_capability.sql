-- Every definition of a tool that became a capability: known, approved (the one that is accepted now), or
-- archived (one that was approved before).
CREATE TABLE capability (
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    hash TEXT NOT NULL,
    id TEXT NOT NULL,
    manifest TEXT NOT NULL,
    state TEXT NOT NULL,
    known_ms BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL,
    PRIMARY KEY (server, tool, hash)
);

CREATE INDEX capability_by_id ON capability (id, state);
