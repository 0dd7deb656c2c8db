//! What Toolcrib remembers: audit, idempotency, approvals, tool lists, counters.
