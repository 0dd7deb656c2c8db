//! Where the browser comes back to after a login: one address on this machine, for one answer.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use toolcrib_core::limits::{CONTROL_TIMEOUT_MS, LOGIN_REQUEST_BYTES_MAX, LOGIN_REQUESTS_MAX};
use url::Url;

/// The path that the browser is sent back to.
pub(super) const PATH: &str = "/callback";

const DONE: &str = "<!doctype html><meta charset=utf-8><title>Toolcrib</title>\
    <p>Toolcrib has the answer. You can close this window and go back to the terminal.";
const UNKNOWN: &str = "<!doctype html><meta charset=utf-8><title>Toolcrib</title>\
    <p>This is not the answer that Toolcrib waits for.";

/// Waits for the answer of the login that `state` names, and gives the address with it. Other requests
/// are turned away. `None`: there were too many of them.
pub(super) async fn receive(listener: TcpListener, port: u16, state: &str) -> Option<String> {
    let (sender, mut answers) = mpsc::channel(1);
    // A browser may open connections that it does not use; none of them holds up the others.
    let mut connections = JoinSet::new();
    let mut left = LOGIN_REQUESTS_MAX;
    loop {
        tokio::select! {
            // It comes after its page was written out.
            answer = answers.recv() => return answer,
            Some(_) = connections.join_next() => {
                if left == 0 && connections.is_empty() {
                    return answers.try_recv().ok();
                }
            }
            accepted = listener.accept(), if left > 0 => {
                left -= 1;
                let Ok((stream, _)) = accepted else { continue };
                let (sender, state) = (sender.clone(), state.to_owned());
                connections.spawn(async move {
                    let limit = Duration::from_millis(CONTROL_TIMEOUT_MS);
                    let served = tokio::time::timeout(limit, serve(stream, port, &state)).await;
                    if let Ok(Some(answer)) = served {
                        let _ = sender.try_send(answer);
                    }
                });
            }
        }
    }
}

/// Answers one request; gives its address where it is the awaited one.
async fn serve(mut stream: TcpStream, port: u16, state: &str) -> Option<String> {
    let target = target(&mut stream).await?;
    let address = format!("http://127.0.0.1:{port}{target}");
    let url = Url::parse(&address).ok()?;
    let fits = url.path() == PATH
        && url
            .query_pairs()
            .any(|(key, value)| key == "state" && value == state);
    let (status, page) = if fits {
        ("200 OK", DONE)
    } else {
        ("404 Not Found", UNKNOWN)
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
        page.len()
    );
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(page.as_bytes()).await;
    let _ = stream.shutdown().await;
    fits.then_some(address)
}

/// The target of a GET request.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        let read = stream.read(&mut part).await.ok().filter(|read| *read > 0)?;
        head.extend_from_slice(&part[..read]);
        if head.len() > LOGIN_REQUEST_BYTES_MAX {
            return None;
        }
    }
    let line = head.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    (method == "GET" && target.starts_with('/')).then(|| target.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(port: u16, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(request).await.unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        answer
    }

    async fn start() -> (u16, tokio::task::JoinHandle<Option<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let waiting = tokio::spawn(async move { receive(listener, port, "right").await });
        (port, waiting)
    }

    #[tokio::test]
    async fn only_the_awaited_answer_is_taken() {
        let (port, waiting) = start().await;
        let _silent = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        for request in [
            "GET /favicon.ico HTTP/1.1\r\n\r\n",
            "GET /callback?state=wrong&code=x HTTP/1.1\r\n\r\n",
            "GET /callback?code=x HTTP/1.1\r\n\r\n",
        ] {
            let answer = ask(port, request.as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
        }
        assert_eq!(
            ask(port, b"POST /callback?state=right HTTP/1.1\r\n\r\n").await,
            ""
        );
        let answer = ask(
            port,
            b"GET /callback?code=c&state=right HTTP/1.1\r\nHost: x\r\n\r\n",
        )
        .await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let expected = format!("http://127.0.0.1:{port}/callback?code=c&state=right");
        assert_eq!(waiting.await.unwrap(), Some(expected));
    }

    #[tokio::test]
    async fn a_flood_ends_the_wait() {
        let (port, waiting) = start().await;
        let long = vec![b'x'; LOGIN_REQUEST_BYTES_MAX + 1];
        ask(port, &long).await;
        for _ in 1..LOGIN_REQUESTS_MAX {
            ask(port, b"GET / HTTP/1.1\r\n\r\n").await;
        }
        assert_eq!(waiting.await.unwrap(), None);
    }
}
