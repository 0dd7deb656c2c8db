//! What Toolcrib talks to: MCP servers and REST APIs.
