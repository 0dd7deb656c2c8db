//! Errors of an API: its own words, and when to come back.

use super::*;

fn text(status: u16, media: &str, body: &str) -> Reply {
    Reply {
        status,
        headers: vec![("content-type", media.to_owned())],
        body: body.as_bytes().to_vec(),
    }
}

#[tokio::test]
async fn an_error_in_xml_is_told_in_the_words_of_the_api() {
    let long = format!(
        "<r><Code>7</Code><m:Message>Bad key</m:Message>{}</r>",
        "x".repeat(9_000)
    );
    let rows = [
        (
            "<?xml version=\"1.0\"?><Error><Code>A</Code><Message>No bucket</Message></Error>",
            "No bucket",
        ),
        (
            "<html><head><style>p{}</style><title>Bad Gateway</title></head><p>nginx</p></html>",
            "Bad Gateway",
        ),
        ("<r><a>1</a><b>two</b></r>", "1 two"),
        ("<r/>", "it gave no reason"),
        (long.as_str(), "Bad key"),
    ];
    let api = Api::start(rows.map(|(body, _)| text(400, "application/xml", body)))
        .await
        .unwrap();
    let adapter = adapter(&api, |_| {});
    for (body, expected) in rows {
        let answer = call(&adapter, "list", &json!({})).await.unwrap();
        let told = answer.result();
        let error = &told["structuredContent"]["error"];
        assert_eq!(error["message"], expected, "{body}");
        let provider = error["provider"].as_str().unwrap();
        if body.len() < 4_000 {
            assert_eq!(provider, body);
        } else {
            assert!(body.starts_with(provider.trim_end_matches('…')));
            assert!(
                (2_000..8_000).contains(&provider.len()),
                "{}",
                provider.len()
            );
        }
    }
}

#[tokio::test]
async fn the_time_to_come_back_may_be_a_date() {
    let busy = || Reply::json(429, &json!({}));
    let (at, later) = (
        "Wed, 21 Oct 2015 07:28:00 GMT",
        "Wed, 21 Oct 2015 07:29:30 GMT",
    );
    let api = Api::start([
        busy().with("date", at).with("retry-after", later),
        busy().with("date", later).with("retry-after", at),
        busy().with("retry-after", "soon"),
    ])
    .await
    .unwrap();
    let adapter = adapter(&api, |_| {});
    for expected in [Some(90), Some(0), None] {
        let answer = call(&adapter, "list", &json!({})).await.unwrap();
        assert_eq!(answer.retry_after.map(|wait| wait.as_secs()), expected);
    }
}
