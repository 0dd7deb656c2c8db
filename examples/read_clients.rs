//! Reads the servers of a client's file and writes them as a configuration of Toolcrib.
//!
//! `cargo run -p toolcrib-config --example read_clients`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use toolcrib_config::export::own;
use toolcrib_config::import::{self, Client, Scope};
use toolcrib_config::{Os, Source, Surroundings};

/// Prints the YAML of what Cursor would start.
pub(crate) fn main() {
    let text = r#"{ "mcpServers": { "files": { "command": "files-server", "args": ["--root", "/srv"] } } }"#;
    let Some(client) = Client::by_id("cursor") else {
        return;
    };
    let here = Surroundings::new(Os::Linux, "/home/ada", "/work/project", |_| None);
    let source = Source::new("/home/ada/.cursor/mcp.json", text);
    let imported = import::read(client, &source, Scope::User, &here);
    for skipped in &imported.skipped {
        println!("# {} is left out: {}", skipped.name, skipped.reason);
    }
    print!("{}", own::to_yaml(&imported.servers, "From Cursor"));
}
