//! The schemas of what the REST API takes and gives.

mod review;

use serde_json::{Value, json};

use super::Operation;
use crate::Code;
use crate::gateway::definitions::{TOOL_ID_PATTERN, USE_CASES};
use crate::limits::{CALL_TIMEOUT_MS_ASKED_MAX, INTENT_LIMIT_MAX};

fn named(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn list(of: &str) -> Value {
    json!({"type": "array", "items": named(of)})
}

/// The body that an operation takes.
pub(super) fn request(operation: Operation) -> Value {
    match operation {
        Operation::Intent => named("IntentRequest"),
        Operation::Execute => named("ExecuteRequest"),
        Operation::Settle => named("Verdict"),
        Operation::Introspect => named("IntrospectRequest"),
        Operation::Export => named("ExportRequest"),
        _ => json!({"type": "object", "description": "The parameters of the tool"}),
    }
}

/// The media type and the schema of what an operation answers with.
pub(super) fn answer(operation: Operation) -> (&'static str, Value) {
    let schema = match operation {
        Operation::RunTool | Operation::Execute => named("Execution"),
        Operation::Adapters => named("AdapterList"),
        Operation::Adapter => named("AdapterDetails"),
        Operation::Servers => named("ServerList"),
        Operation::ServerTools => named("ToolPage"),
        Operation::Tool => named("ToolDetails"),
        Operation::Search => named("SearchAnswer"),
        Operation::Intent => named("IntentAnswer"),
        Operation::Approvals | Operation::ShowApproval | Operation::Settle => named("ApprovalList"),
        Operation::Introspect => named("Introspected"),
        Operation::Register => named("Registered"),
        Operation::Export => named("Exported"),
        Operation::Audit => named("AuditList"),
        Operation::Stats => named("Stats"),
        Operation::Configuration => named("Configuration"),
        Operation::Reload => named("Reload"),
        Operation::Events => return ("text/event-stream", json!({"type": "string"})),
        Operation::Document => json!({"type": "object"}),
    };
    ("application/json", schema)
}

/// Every schema by its name.
#[expect(clippy::too_many_lines, reason = "one table, one row for each shape")]
pub(super) fn all() -> Value {
    let text = json!({"type": "string"});
    let count = json!({"type": "integer", "minimum": 0});
    let texts = json!({"type": "array", "items": text});
    let risk = json!({"type": "string", "enum": ["low", "medium", "high", "destructive"]});
    let share = json!({"type": "number", "minimum": 0, "maximum": 1});
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    let mut all = json!({
        "Problem": {
            "type": "object",
            "required": ["type", "title", "status", "detail"],
            "properties": {
                "type": text,
                "title": text,
                "status": {"type": "integer", "minimum": 400, "maximum": 599},
                "detail": text,
                "code": {"type": "string", "enum": codes},
                "suggestion": text,
                "success": {"const": false},
                "error": {"type": "object"},
                "tool_id": text,
            },
        },
        "IntentRequest": {
            "type": "object",
            "required": ["query"],
            "additionalProperties": false,
            "properties": {
                "query": {"type": "string", "minLength": 1, "pattern": "\\S"},
                "adapter": text,
                "context": {
                    "type": "object",
                    "properties": {
                        "currency": text,
                        "country": text,
                        "use_case": {"type": "string", "enum": USE_CASES},
                    },
                },
                "limit": {"type": "integer", "minimum": 1, "maximum": INTENT_LIMIT_MAX},
            },
        },
        "Choice": {
            "type": "object",
            "required": ["adapter", "tool", "tool_id", "confidence", "why"],
            "properties": {"adapter": text, "tool": text, "tool_id": text, "confidence": share, "why": text},
        },
        "IntentAnswer": {
            "type": "object",
            "required": ["recommended", "missing_inputs", "next_step", "alternatives", "search_context"],
            "properties": {
                "recommended": {"oneOf": [{"type": "null"}, named("Choice")]},
                "ready_to_execute": {
                    "type": "object",
                    "required": ["tool_id", "required_params", "optional_params", "param_schemas", "constraints"],
                    "properties": {
                        "tool_id": text,
                        "required_params": texts,
                        "optional_params": texts,
                        "param_schemas": {"type": "object"},
                        "example": {},
                        "params": {"type": "object"},
                        "params_from": {"type": "object", "additionalProperties": text},
                        "constraints": {
                            "type": "object",
                            "required": ["risk_level", "requires_idempotency", "requires_confirmation", "rate_limit"],
                            "properties": {
                                "risk_level": risk,
                                "requires_idempotency": {"type": "boolean"},
                                "requires_confirmation": {"type": "boolean"},
                                "rate_limit": text,
                            },
                        },
                        "truncated": {"type": "boolean"},
                    },
                },
                "missing_inputs": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["field", "question"],
                        "properties": {"field": text, "question": text},
                    },
                },
                "needs_selection": {"type": "boolean"},
                "next_step": text,
                "alternatives": list("Choice"),
                "search_context": {
                    "type": "object",
                    "required": ["mode", "matched_adapters", "query_interpreted"],
                    "properties": {
                        "mode": {"enum": ["global", "adapter-specific"]},
                        "matched_adapters": texts,
                        "query_interpreted": text,
                        "pending_servers": count,
                        "failed_servers": count,
                    },
                },
            },
        },
        "ExecuteRequest": {
            "type": "object",
            "required": ["tool_id", "params"],
            "additionalProperties": false,
            "properties": {
                "tool_id": {"type": "string", "pattern": TOOL_ID_PATTERN},
                "params": {"type": "object"},
                "options": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                        "timeout": {"type": "integer", "minimum": 1, "maximum": CALL_TIMEOUT_MS_ASKED_MAX},
                        "idempotency_key": text,
                        "confirmed": {"type": "boolean"},
                        "dry_run": {"type": "boolean"},
                        "challenge": text,
                        "select": text,
                        "page": text,
                    },
                },
            },
        },
        "Execution": {
            "type": "object",
            "required": ["success", "tool_id", "execution_time_ms", "data", "meta", "next_step"],
            "properties": {
                "success": {"const": true},
                "tool_id": text,
                "execution_time_ms": count,
                "data": {},
                "content": {"type": "array", "items": {"type": "object"}},
                "page": text,
                "left": text,
                "unfiltered": text,
                "replayed": {"type": "boolean"},
                "next": {"type": "object", "description": "The arguments of the next page, where an API has one"},
                "meta": {
                    "type": "object",
                    "required": ["adapter", "tool", "request_id", "timestamp"],
                    "properties": {
                        "adapter": text,
                        "tool": text,
                        "request_id": text,
                        "timestamp": {"type": "string", "format": "date-time"},
                        "operation": {
                            "type": "object",
                            "properties": {
                                "risk_level": risk,
                                "idempotent": {"type": "boolean"},
                                "reversible": {"type": "boolean"},
                                "category": text,
                            },
                        },
                    },
                },
                "next_step": text,
            },
        },
        "Adapter": {
            "type": "object",
            "required": ["id", "name", "category", "tool_count", "auth_type", "status"],
            "properties": {
                "id": text,
                "name": text,
                "description": text,
                "category": text,
                "capabilities": texts,
                "supported_countries": texts,
                "supported_currencies": texts,
                "tool_count": count,
                "tool_categories": {"type": "object", "additionalProperties": count},
                "auth_type": text,
                "status": {"enum": ["operational", "degraded", "down", "disabled"]},
                "common_operations": texts,
            },
        },
        "AdapterList": {
            "type": "object",
            "required": ["total", "adapters"],
            "properties": {"total": count, "adapters": list("Adapter"), "pending_servers": count},
        },
        "AdapterTool": {
            "type": "object",
            "required": ["tool_id", "name", "risk_level", "required_params", "optional_param_count"],
            "properties": {
                "tool_id": text,
                "name": text,
                "description": text,
                "category": text,
                "method": text,
                "risk_level": risk,
                "required_params": texts,
                "optional_param_count": count,
            },
        },
        "AdapterDetails": {
            "allOf": [named("Adapter"), {
                "type": "object",
                "required": ["tools"],
                "properties": {"tools": list("AdapterTool")},
            }],
        },
        "ServerList": {
            "type": "object",
            "required": ["servers", "pending_servers", "failed_servers"],
            "properties": {
                "servers": {"type": "array", "items": {
                    "type": "object",
                    "required": ["name", "kind", "enabled", "known", "tool_count", "enabled_count", "pending_count", "status"],
                    "properties": {
                        "name": text,
                        "kind": {"enum": ["server", "adapter"]},
                        "title": text,
                        "description": text,
                        "enabled": {"type": "boolean"},
                        "known": {"type": "boolean"},
                        "tool_count": count,
                        "enabled_count": count,
                        "pending_count": count,
                        "status": {"enum": ["operational", "degraded", "down", "disabled"]},
                    },
                }},
                "pending_servers": count,
                "failed_servers": count,
            },
        },
        "ToolRow": {
            "type": "object",
            "required": ["tool_id", "server", "tool", "enabled", "risk_level"],
            "properties": {
                "tool_id": text,
                "server": text,
                "tool": text,
                "title": text,
                "summary": text,
                "tags": texts,
                "enabled": {"type": "boolean"},
                "risk_level": risk,
                "relevance": share,
                "why": texts,
            },
        },
        "ToolPage": {
            "type": "object",
            "required": ["server", "tools", "total"],
            "properties": {"server": text, "tools": list("ToolRow"), "total": count, "next_cursor": text},
        },
        "ToolDetails": {
            "allOf": [named("ToolRow"), {
                "type": "object",
                "required": ["description", "input_schema", "policy"],
                "properties": {
                    "description": text,
                    "input_schema": {"type": "object"},
                    "output_schema": {},
                    "example": {},
                    "method": text,
                    "path": text,
                    "domains": texts,
                    "categories": texts,
                    "policy": {"type": "object"},
                },
            }],
        },
        "SearchAnswer": {
            "type": "object",
            "required": ["results", "total", "confidence", "pending_servers", "failed_servers"],
            "properties": {
                "results": list("ToolRow"),
                "total": count,
                "confidence": share,
                "pending_servers": count,
                "failed_servers": count,
            },
        },
        "Verdict": {
            "type": "object",
            "required": ["verdict"],
            "additionalProperties": false,
            "properties": {
                "verdict": {"enum": ["approve", "reject"]},
                "yes": {
                    "type": "boolean",
                    "description": "whether to approve also what shows signs of deceit",
                },
            },
        },
        "AuditList": {
            "type": "object",
            "required": ["records"],
            "properties": {"records": {"type": "array", "items": {
                "type": "object",
                "required": ["request_id", "tool_id", "params_hash", "actor_id", "timestamp"],
            }}},
        },
        "Stats": {
            "type": "object",
            "required": ["servers", "tools", "counters"],
            "properties": {
                "servers": {"type": "object", "properties": {"configured": count, "connected": count}},
                "tools": {"type": "object", "properties": {"total": count, "enabled": count}},
                "counters": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
        },
        "Configuration": {
            "type": "object",
            "required": ["profile", "mode", "servers", "adapters"],
            "properties": {
                "profile": {"enum": ["discovery", "gateway"]},
                "mode": {"enum": ["lazy", "full", "flat"]},
                "servers": {"type": "array", "items": {"type": "object"}},
                "adapters": {"type": "array", "items": {"type": "object"}},
            },
        },
        "Reload": {
            "type": "object",
            "required": ["cause", "generation", "outcome"],
            "properties": {"cause": text, "generation": count, "outcome": text},
        },
    });
    if let (Value::Object(all), Value::Object(more)) = (&mut all, review::all()) {
        all.extend(more);
    }
    all
}
