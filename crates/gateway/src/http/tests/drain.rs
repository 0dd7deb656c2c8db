//! The end of the process: what is under way is answered, whatever the era and the form of the answer.

use super::*;

const MODERN: [(&str, &str); 3] = [
    ("mcp-protocol-version", "2026-07-28"),
    ("mcp-method", "tools/call"),
    ("mcp-name", "work"),
];

fn modern(id: i64, name: &str, progress: bool) -> Value {
    let mut call = call(id, name);
    call["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    if progress {
        call["params"]["_meta"]["progressToken"] = json!("p");
    }
    call
}

fn legacy(id: i64, name: &str, progress: bool) -> Value {
    let mut call = call(id, name);
    if progress {
        call["params"]["_meta"] = json!({ "progressToken": "p" });
    }
    call
}

/// The answer, whether it came whole or at the end of a stream.
async fn answer(response: Response<Body>) -> Value {
    let text = text(response).await;
    match serde_json::from_str(&text) {
        Ok(whole) => whole,
        Err(_) => events(&text).pop().expect("an answer").1,
    }
}

#[tokio::test(start_paused = true)]
async fn requests_under_way_are_answered_after_the_end_was_asked_for() {
    for progress in [false, true] {
        let visitor = Visitor::new();
        let session = visitor.opens("2025-11-25").await;
        let sessions = [("mcp-session-id", session.as_str())];
        let (first, second) = (legacy(1, "work", progress), modern(2, "work", progress));
        let both = async {
            tokio::join!(
                async { answer(visitor.posts(&sessions, &first).await).await },
                async { answer(visitor.posts(&MODERN, &second).await).await },
            )
        };
        let end = async {
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            visitor.ending.cancel();
        };
        let ((one, two), ()) = tokio::join!(both, end);
        for answer in [one, two] {
            assert_eq!(answer["result"]["content"][0]["text"], "worked", "{answer}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_takes_too_long_is_cancelled_and_says_so() {
    let visitor = Visitor::new();
    let session = visitor.opens("2025-11-25").await;
    let sessions = [("mcp-session-id", session.as_str())];
    let headers = [MODERN[0], MODERN[1], ("mcp-name", "wait")];
    let (first, second) = (legacy(1, "wait", false), modern(2, "wait", false));
    let both = async {
        tokio::join!(
            async { answer(visitor.posts(&sessions, &first).await).await },
            async { answer(visitor.posts(&headers, &second).await).await },
        )
    };
    let end = async {
        visitor.ending.cancel();
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        visitor.door.work().end().await;
    };
    let ((one, two), ()) = tokio::join!(both, end);
    for answer in [one, two] {
        assert_eq!(
            answer["error"]["code"],
            crate::mcp::service::CANCELLED,
            "{answer}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_belongs_to_no_request_ends_at_once() {
    let visitor = Visitor::new();
    let session = visitor.opens("2025-11-25").await;
    let headers = [("mcp-session-id", session.as_str())];
    let stream = visitor
        .sends(request(Method::GET, &headers, Body::empty()))
        .await;
    assert_eq!(stream.status(), 200);
    visitor.ending.cancel();
    let begun = tokio::time::Instant::now();
    text(stream).await;
    assert!(begun.elapsed() < std::time::Duration::from_secs(1));
}
