-- For SQLite alone: an entry of the journal stands in its index, so that writing it changes one page and not two.
CREATE TABLE journal_in_one_tree (
    request_id TEXT NOT NULL PRIMARY KEY,
    writer BIGINT NOT NULL,
    timestamp_ms BIGINT NOT NULL,
    actor_id TEXT NOT NULL,
    tool_id TEXT NOT NULL,
    params_hash TEXT NOT NULL,
    parameters TEXT,
    reason TEXT NOT NULL,
    upstream TEXT,
    request_bytes BIGINT NOT NULL,
    trace_id TEXT
) WITHOUT ROWID;

INSERT INTO journal_in_one_tree SELECT * FROM journal;
DROP TABLE journal;
ALTER TABLE journal_in_one_tree RENAME TO journal;
