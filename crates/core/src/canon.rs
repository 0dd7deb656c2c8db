//! Canonical JSON and content hashes.

use serde_json::Value;

/// The canonical text of a value (RFC 8785): the same value always gives the same bytes.
pub fn text(value: &Value) -> String {
    serde_json_canonicalizer::to_string(value).unwrap_or_else(|_| value.to_string())
}

/// BLAKE3 of the canonical text, in hex.
pub fn hash(value: &Value) -> String {
    blake3::hash(text(value).as_bytes()).to_hex().to_string()
}
