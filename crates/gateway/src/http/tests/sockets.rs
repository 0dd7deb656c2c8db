//! The door on a real socket.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::http::listener::serve;

async fn answer(stream: &mut TcpStream) -> String {
    let mut heard = Vec::new();
    let mut buffer = [0; 4096];
    while !heard.ends_with(b"}") {
        let read = stream.read(&mut buffer).await.unwrap();
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&buffer[..read]);
    }
    String::from_utf8(heard).unwrap()
}

fn written(message: &Value) -> String {
    let body = message.to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn connections_are_served_and_drained_at_the_end() {
    let visitor = Visitor::new();
    let bound = bind("localhost:0").await.unwrap();
    let address = bound.address();
    let ending = CancellationToken::new();
    let running = tokio::spawn(bound.run(
        visitor.router.clone(),
        ending.clone(),
        visitor.door.work().clone(),
    ));
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": { "protocolVersion": "2025-11-25", "capabilities": {} } });
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(written(&hello).as_bytes()).await.unwrap();
    let heard = answer(&mut stream).await;
    assert!(heard.starts_with("HTTP/1.1 200 OK"), "{heard}");
    assert!(heard.contains("x-content-type-options: nosniff"), "{heard}");
    // A client that never finishes its request does not hold up the end.
    let mut silent = TcpStream::connect(address).await.unwrap();
    silent.write_all(b"POST /mcp HT").await.unwrap();
    ending.cancel();
    running.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn an_address_that_is_taken_is_an_error() {
    let first = bind("127.0.0.1:0").await.unwrap();
    assert!(bind(&first.address().to_string()).await.is_err());
    assert!(bind("no-port").await.is_err());
}

/// A connection in memory, and what serves it.
fn connected(visitor: &Visitor) -> (tokio::io::DuplexStream, tokio::task::JoinHandle<()>) {
    let (theirs, ours) = tokio::io::duplex(256);
    let peer = ([127, 0, 0, 1], 9).into();
    let serving = serve(ours, peer, visitor.router.clone(), visitor.ending.clone());
    (theirs, tokio::spawn(serving))
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_its_answer_is_given_up() {
    let visitor = Visitor::new();
    let (mut client, serving) = connected(&visitor);
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": { "protocolVersion": "2025-11-25", "capabilities": {} } });
    client.write_all(written(&hello).as_bytes()).await.unwrap();
    let patience = std::time::Duration::from_millis(2 * toolcrib_core::limits::HTTP_STALL_MS);
    tokio::time::timeout(patience, serving)
        .await
        .expect("the connection ends")
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_nothing_or_half_a_greeting_is_given_up() {
    let longest = toolcrib_core::limits::HTTP_HEADERS_MS_MAX;
    for said in ["", "P", "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r"] {
        let visitor = Visitor::new();
        let (mut client, serving) = connected(&visitor);
        // A letter now and then does not win any time.
        for letter in said.bytes() {
            client.write_all(&[letter]).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        assert!(!serving.is_finished(), "{said:?}");
        let patience = std::time::Duration::from_millis(longest + 1);
        tokio::time::timeout(patience, serving)
            .await
            .unwrap_or_else(|_| panic!("{said:?} keeps its connection"))
            .unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_speaks_http_2_is_served_as_long_as_it_answers() {
    let visitor = Visitor::new();
    let (mut client, serving) = connected(&visitor);
    client
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await
        .unwrap();
    let long = 2 * toolcrib_core::limits::HTTP_HEADERS_MS_MAX;
    let mut heard = [0; 64];
    assert!(client.read(&mut heard).await.unwrap() >= 9);
    tokio::time::sleep(std::time::Duration::from_millis(long)).await;
    assert!(!serving.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_stream_on_which_nothing_happens_stays_open() {
    let visitor = Visitor::new();
    let session = visitor.opens("2025-11-25").await;
    let (mut client, serving) = connected(&visitor);
    let request = format!(
        "GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\n\r\n"
    );
    client.write_all(request.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    let long = std::time::Duration::from_millis(10 * toolcrib_core::limits::HTTP_STALL_MS);
    let ended = tokio::time::timeout(long, client.read_to_end(&mut heard)).await;
    assert!(ended.is_err() && !serving.is_finished());
    assert!(heard.starts_with(b"HTTP/1.1 200 OK"));
}
