//! The schemas of what waits for a person, and of what puts it there.

use serde_json::{Value, json};

/// Every one by its name.
pub(super) fn all() -> Value {
    let text = json!({"type": "string"});
    let count = json!({"type": "integer", "minimum": 0});
    let texts = json!({"type": "array", "items": text});
    json!({
        "IntrospectRequest": {
            "type": "object",
            "required": ["server_url"],
            "additionalProperties": false,
            "properties": {
                "server_url": {"type": "string", "minLength": 1, "description": "Address of the server; https, or http on this machine"},
                "server_name": {"type": "string", "minLength": 1, "description": "What to call it; from its address unless given"},
            },
        },
        "Introspected": {
            "type": "object",
            "required": ["server_name", "status", "assessment", "files", "expires_ms"],
            "properties": {
                "server_name": text,
                "approval_id": text,
                "status": {"enum": ["pending", "approved"]},
                "assessment": {"type": "object"},
                "files": texts,
                "expires_ms": {"type": "integer"},
                "next": text,
            },
        },
        "Registered": {
            "type": "object",
            "required": ["server_name", "registered"],
            "properties": {
                "server_name": text,
                "registered": {"const": true},
                "approved_files": texts,
                "archived_files": texts,
            },
        },
        "ExportRequest": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "introspect_outputs": {"type": "boolean", "description": "Whether approved tools that only read are run once, to learn what they answer"},
                "dialect": {"enum": ["doc", "ccos"], "description": "How the files are written; doc unless given"},
            },
        },
        "Exported": {
            "type": "object",
            "required": ["server", "directory", "files", "outputs_learnt", "outputs_not_learnt"],
            "properties": {
                "server": text,
                "directory": text,
                "files": texts,
                "outputs_learnt": count,
                "outputs_not_learnt": {"type": "array", "items": {
                    "type": "object",
                    "required": ["tool", "reason"],
                    "properties": {"tool": text, "reason": text},
                }},
            },
        },
        "ApprovalList": {
            "type": "object",
            "required": ["approvals"],
            "properties": {"promoted": {"type": "array", "items": {"type": "object"}}, "approvals": {"type": "array", "items": {
                "type": "object",
                "required": ["id", "kind", "server", "state", "created_ms"],
                "properties": {
                    "id": text,
                    "kind": {"enum": ["tool", "server", "confirmation"]},
                    "server": text,
                    "tool": text,
                    "caller": text,
                    "state": text,
                    "created_ms": {"type": "integer"},
                    "expires_ms": {"type": "integer"},
                    "settled_ms": {"type": "integer"},
                    "settled_by": text,
                    "hash": text,
                    "detail": text,
                    "accepted": text,
                    "directory": text,
                    "assessment": {"type": "object"},
                    "flags": {"type": "array", "items": {"type": "object"}},
                },
            }}},
        },
    })
}
