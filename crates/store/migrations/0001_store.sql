-- One text for SQLite and PostgreSQL: ids and JSON are TEXT, times are BIGINT milliseconds.

-- The processes that ever wrote, each with its own chain of records. `genesis` chains the writers
-- themselves; `base_*` is the checkpoint that stands for a removed prefix; `head_*` is the last record.
CREATE TABLE audit_writer (
    ordinal BIGINT NOT NULL PRIMARY KEY,
    writer_id TEXT NOT NULL UNIQUE,
    started_ms BIGINT NOT NULL,
    genesis TEXT NOT NULL,
    base_seq BIGINT NOT NULL,
    base_hash TEXT NOT NULL,
    head_seq BIGINT NOT NULL,
    head_hash TEXT NOT NULL,
    kept_bytes BIGINT NOT NULL
);

-- The checkpoint that stands for writers whose records were all removed.
CREATE TABLE audit_origin (
    id BIGINT NOT NULL PRIMARY KEY,
    ordinal BIGINT NOT NULL,
    genesis TEXT NOT NULL
);

CREATE TABLE audit (
    writer BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    request_id TEXT NOT NULL UNIQUE,
    timestamp_ms BIGINT NOT NULL,
    actor_id TEXT NOT NULL,
    tool_id TEXT NOT NULL,
    params_hash TEXT NOT NULL,
    parameters TEXT,
    decision TEXT NOT NULL,
    reason TEXT NOT NULL,
    outcome TEXT NOT NULL,
    error_code TEXT,
    duration_us BIGINT,
    upstream TEXT,
    request_bytes BIGINT NOT NULL,
    response_bytes BIGINT,
    trace_id TEXT,
    bytes BIGINT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (writer, seq)
);

CREATE INDEX audit_by_time ON audit (timestamp_ms, writer, seq);

-- Executions that have begun and not ended.
CREATE TABLE journal (
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
);

CREATE TABLE idempotency (
    principal TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    tool_id TEXT NOT NULL,
    params_hash TEXT NOT NULL,
    request_id TEXT NOT NULL,
    writer BIGINT NOT NULL,
    state TEXT NOT NULL,
    answer TEXT,
    started_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    PRIMARY KEY (principal, idempotency_key)
);

CREATE INDEX idempotency_by_request ON idempotency (request_id);
CREATE INDEX idempotency_by_expiry ON idempotency (expires_ms);

-- Definitions of tools that were accepted, by a person or by the rule of the first list.
CREATE TABLE pin (
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    hash TEXT NOT NULL,
    definition TEXT NOT NULL,
    accepted_by TEXT NOT NULL,
    accepted_ms BIGINT NOT NULL,
    PRIMARY KEY (server, tool)
);

-- Servers whose first list was accepted.
CREATE TABLE vetted_server (
    server TEXT NOT NULL PRIMARY KEY,
    accepted_by TEXT NOT NULL,
    accepted_ms BIGINT NOT NULL
);

-- What waits for a person, and what became of it: tools, servers and confirmations.
CREATE TABLE approval (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    hash TEXT NOT NULL,
    detail TEXT NOT NULL,
    caller TEXT,
    state TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    settled_ms BIGINT,
    settled_by TEXT,
    used_ms BIGINT
);

CREATE INDEX approval_by_tool ON approval (server, tool);
CREATE INDEX approval_by_state ON approval (state, created_ms);

CREATE TABLE api_key (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    revoked_ms BIGINT
);

CREATE TABLE oauth_token (
    issuer TEXT NOT NULL,
    server TEXT NOT NULL,
    content TEXT NOT NULL,
    version BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL,
    PRIMARY KEY (issuer, server)
);

CREATE TABLE result_page (
    handle TEXT NOT NULL PRIMARY KEY,
    principal TEXT NOT NULL,
    tool_id TEXT NOT NULL,
    content TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
);

CREATE INDEX result_page_by_principal ON result_page (principal, created_ms);
CREATE INDEX result_page_by_expiry ON result_page (expires_ms);

CREATE TABLE counter (
    day BIGINT NOT NULL,
    name TEXT NOT NULL,
    value BIGINT NOT NULL,
    PRIMARY KEY (day, name)
);
