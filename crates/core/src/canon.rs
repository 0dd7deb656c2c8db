//! Canonical JSON and content hashes.
