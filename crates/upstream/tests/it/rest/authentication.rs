//! Secrets on their way: which of them goes where, and that none comes back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;

fn client() -> Credential {
    Credential {
        secret: Some(secret("client-secret")),
        client_id: Some(secret("client")),
        ..Credential::default()
    }
}

fn token(name: &str, more: &Value) -> Reply {
    let mut body = json!({"access_token": name, "expires_in": 3600});
    let fields = body.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    Reply::json(200, &body)
}

#[tokio::test]
async fn a_client_secret_goes_to_the_token_endpoint_and_never_to_the_api() {
    for kind in [Some(Kind::OAuth2), None] {
        let api = Api::start([token("t0ken-of-the-client", &json!({}))])
            .await
            .unwrap();
        let credential = Credential {
            kind,
            token_url: Some(format!("{}/token", api.url())),
            ..client()
        };
        // The description only knows bearer tokens, passwords and keys.
        let adapter = adapter(&api, |settings| settings.credentials = usual(credential));
        call(&adapter, "scoped", &json!({})).await.unwrap();
        call(&adapter, "create", &json!({})).await.unwrap();
        let received = api.received();
        let targets: Vec<&str> = received.iter().map(|r| r.target.as_str()).collect();
        assert_eq!(targets, ["/token", "/scoped", "/orders"], "{kind:?}");
        for request in &received[1..] {
            let sent = request.header("authorization");
            assert_eq!(sent, Some("Bearer t0ken-of-the-client"), "{kind:?}");
        }
    }
}

#[tokio::test]
async fn a_refresh_token_that_is_replaced_is_used_from_then_on() {
    let api = Api::start([
        token("first-token", &json!({"refresh_token": "refresh-2"})),
        Reply::json(200, &json!({})),
        Reply::json(401, &json!({})),
        token("second-token", &json!({})),
    ])
    .await
    .unwrap();
    let tokens = std::sync::Arc::default();
    let refreshing = |api: &Api| {
        adapter(api, |settings| {
            settings.tokens = std::sync::Arc::clone(&tokens);
            settings.credentials = usual(Credential {
                secret: None,
                refresh_token: Some(secret("refresh-1")),
                ..client()
            });
        })
    };
    call(&refreshing(&api), "client", &json!({})).await.unwrap();
    // The description is read anew in between.
    call(&refreshing(&api), "client", &json!({})).await.unwrap();
    let received = api.received();
    let forms = [&received[0], &received[3]].map(Received::form);
    let expected = |refresh: &str| json!({"grant_type": "refresh_token", "refresh_token": refresh, "client_id": "client"});
    assert_eq!(forms, [expected("refresh-1"), expected("refresh-2")]);
    assert_eq!(received[3].header("authorization"), None);
}

#[tokio::test]
async fn a_token_address_is_relative_to_the_api_and_never_in_the_clear_elsewhere() {
    let api = Api::start([token("t0ken-of-the-client", &json!({}))])
        .await
        .unwrap();
    let with = |base: Option<String>, url: &str| {
        adapter(&api, |settings| {
            settings.base_url = base.or(settings.base_url.take());
            settings.credentials = usual(Credential {
                token_url: Some(url.to_owned()),
                ..client()
            });
        })
    };
    call(&with(None, "oauth/token"), "client", &json!({}))
        .await
        .unwrap();
    assert_eq!(api.received()[0].target, "/oauth/token");
    let https = || Some("https://api.example.com/v1".to_owned());
    for (base, url) in [
        (https(), "http://auth.example.com/token"),
        (https(), "ftp://auth.example.com/token"),
        (None, "data:text/plain,x"),
    ] {
        let outcome = call(&with(base, url), "client", &json!({})).await;
        assert!(
            matches!(&outcome, Err(Failure::Token(why)) if why.contains("auth.tokenUrl")),
            "{outcome:?}"
        );
    }
}

#[tokio::test]
async fn the_reason_of_a_refused_token_is_passed_on_without_secrets() {
    let api = Api::start([Reply::json(
        403,
        &json!({"error": "invalid_grant", "error_description": "client-secret is revoked"}),
    )])
    .await
    .unwrap();
    let adapter = adapter(&api, |settings| settings.credentials = usual(client()));
    let failure = call(&adapter, "client", &json!({})).await.unwrap_err();
    let shown = toolcrib_upstream::mcp::Failure::from(failure).to_string();
    assert!(shown.contains("invalid_grant: *** is revoked"), "{shown}");
}

#[tokio::test]
async fn one_secret_is_not_put_in_two_places() {
    let api = Api::start([]).await.unwrap();
    let one = || Credential {
        secret: Some(secret("s3cr3t-value")),
        ..Credential::default()
    };
    let lone = adapter(&api, |settings| settings.credentials = usual(one()));
    let outcome = call(&lone, "both", &json!({})).await;
    assert!(
        matches!(&outcome, Err(Failure::Configuration(why)) if why.contains("key, head, cookie")),
        "{outcome:?}"
    );
    assert!(api.received().is_empty());
    let named = ["head", "cookie"].map(|name| (name.to_owned(), one()));
    let rest = adapter(&api, |settings| {
        settings.credentials = usual(one());
        settings.credentials.schemes = named.into_iter().collect();
    });
    call(&rest, "both", &json!({})).await.unwrap();
    assert_eq!(
        api.received()[0].query(),
        json!({"api_key": "s3cr3t-value"})
    );
}

#[tokio::test]
async fn an_api_that_echoes_its_request_gives_no_secret_away() {
    let plain = "s3cr3t+va/lue";
    let pair = STANDARD.encode(format!("ada:{plain}"));
    let echo = json!({
        "authorization": format!("Basic {pair}"),
        "target": "/q?key=s3cr3t%2Bva%2Flue",
        "body": json!({"k": plain}).to_string().replace('/', "\\/"),
    });
    let bytes = [&[0xff][..], plain.as_bytes()].concat();
    let headers = vec![("content-type", "text/xml".to_owned())];
    let next = format!("<https://x.com/q?sort=1&key={plain}>; rel=\"next\"");
    let api = Api::start([
        Reply::json(200, &echo),
        Reply {
            status: 200,
            headers: headers.clone(),
            body: bytes,
        },
        Reply {
            status: 400,
            headers,
            body: format!("<a>{pair}</a>").into_bytes(),
        },
        Reply::json(200, &json!([])).with("link", next),
    ])
    .await
    .unwrap();
    let adapter = adapter(&api, |settings| {
        settings.credentials = usual(Credential {
            secret: Some(secret(plain)),
            username: Some(secret("ada")),
            ..Credential::default()
        });
    });
    for _ in 0..4 {
        let answer = call(&adapter, "create", &json!({})).await.unwrap();
        if let Content::Bytes { data, .. } = &answer.content {
            assert_eq!(data, b"\xff***");
            continue;
        }
        let told = answer.result().to_string();
        let shown = ["s3cr3t", pair.as_str()]
            .iter()
            .any(|part| told.contains(part));
        assert!(!shown && told.contains("***"), "{told}");
    }
}
