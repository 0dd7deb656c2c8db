//! An MCP server over HTTP that does next to nothing: what a call to it takes is the way to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use anyhow::Result;
use serde_json::{Value, json};

/// Its endpoint and its only tool, the same as that of the server on a pipe.
pub(super) const PATH: &str = "/mcp";
pub(super) const TOOL: &str = "search_notes";

/// The server; its threads end with this process.
pub(crate) struct Server {
    /// Where it listens, such as `127.0.0.1:40001`.
    pub(crate) address: String,
}

impl Server {
    /// Starts it on a port of its own.
    pub(crate) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || serve(stream));
            }
        });
        Ok(Self { address })
    }
}

/// Answers one request after another until the other side has enough.
fn serve(stream: TcpStream) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut stream = BufReader::new(stream);
    loop {
        let (method, body) = request(&mut stream)?;
        let answer = if method == "POST" {
            answer(&serde_json::from_slice(&body).ok()?)
        } else {
            None
        };
        let text = match (&answer, method.as_str()) {
            (Some(answer), _) => {
                let answer = answer.to_string();
                format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
                    answer.len()
                )
            }
            (None, "POST") => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
            (None, _) => "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_owned(),
        };
        stream.get_mut().write_all(text.as_bytes()).ok()?;
    }
}

/// The method and the body of the next request.
fn request(stream: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let method = line.split(' ').next()?.to_owned();
    let mut length = 0;
    loop {
        line.clear();
        stream.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((method, body))
}

fn answer(message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let said = match message["method"].as_str()? {
        "initialize" => json!({"result": {
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1"}}}),
        "tools/list" => json!({"result": {"tools": [{
            "name": TOOL, "description": "Finds notes that hold a word.",
            "annotations": {"readOnlyHint": true},
            "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}]}}),
        "tools/call" => json!({"result": {
            "content": [{"type": "text", "text": "{\"notes\":[]}"}],
            "structuredContent": {"notes": []}}}),
        method => json!({"error": {"code": -32601, "message": format!("there is no {method}")}}),
    };
    let mut answer = json!({"jsonrpc": "2.0", "id": id});
    answer.as_object_mut()?.extend(said.as_object()?.clone());
    Some(answer)
}
