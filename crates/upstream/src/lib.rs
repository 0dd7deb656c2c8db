//! What Toolcrib talks to: MCP servers and REST APIs.
//!
//! [`mcp`] is a thin JSON-RPC peer of our own over three transports. It keeps what a server sends as
//! text, so that fields nobody here knows come out as they went in, and one bad tool costs that tool.

pub mod mcp;
pub mod registry;
pub mod rest;
pub mod sent;
