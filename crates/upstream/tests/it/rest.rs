//! Calls to REST APIs over real sockets: what arrives, what comes back, and what is refused.

use serde_json::{Value, json};
use toolcrib_core::canon;
use toolcrib_core::policy::{
    Approval, Caller, Metadata, Outcome, Permit, PolicySettings, RateLimits, Request, ServerFacts,
    Subject, Validity, decide,
};
use toolcrib_core::retry::RetryPolicy;
use toolcrib_core::secret::Secret;
use toolcrib_core::trace::SpanContext;
use toolcrib_testkit::api::{Api, Received, Reply};
use toolcrib_upstream::rest::answer::Content;
use toolcrib_upstream::rest::auth::Kind;
use toolcrib_upstream::rest::{
    self, Adapter, Answer, Credential, Credentials, Failure, Moment, Place, Settings,
};
use toolcrib_upstream::sent::Sent;

use crate::fixture::now_ms;

mod authentication;
mod description;
mod errors;

const SPEC: &str = r#"{"openapi": "3.0.0", "info": {"title": "Shop"},
    "servers": [{"url": "https://api.stripe.com"}],
    "components": {"securitySchemes": {
        "token": {"type": "http", "scheme": "bearer"}, "pair": {"type": "http", "scheme": "basic"},
        "key": {"type": "apiKey", "name": "api_key", "in": "query"},
        "cookie": {"type": "apiKey", "name": "sid", "in": "cookie"},
        "head": {"type": "apiKey", "name": "X-Key", "in": "header"},
        "client": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "TOKEN", "scopes": {}}}}}},
    "paths": {
        "/orders": {
            "get": {"operationId": "list", "security": [], "parameters": [
                {"name": "cursor", "in": "query", "schema": {"type": "string"}}, {"name": "page", "in": "query", "schema": {"type": "integer"}}, {"name": "starting_after", "in": "query", "schema": {}}]},
            "post": {"operationId": "create", "security": [{"pair": []}, {"token": []}], "requestBody": {"content": {"application/x-www-form-urlencoded": {
                "schema": {"type": "object", "properties": {"amount": {"type": "integer"}, "items": {"type": "array"}, "metadata": {"type": "object"}}},
                "encoding": {"items": {"style": "deepObject", "explode": true}}}}},
                "responses": {"402": {"description": "The card was declined"}}}},
        "/both": {"get": {"operationId": "both", "security": [{"key": [], "head": [], "cookie": []}]}},
        "/client": {"get": {"operationId": "client", "security": [{"client": ["orders:read"]}]}},
        "/scoped": {"get": {"operationId": "scoped", "security": [{"token": ["orders:read"]}]}}}}"#;

fn adapter(api: &Api, change: impl FnOnce(&mut Settings)) -> Adapter {
    let spec = SPEC.replace("TOKEN", &format!("{}/token", api.url()));
    let described = rest::Api::read("shop", Place::File("/work/project/shop.json".into()), &spec);
    let mut settings = Settings {
        base_url: Some(api.url()),
        allow_private: true,
        retries: RetryPolicy {
            initial_delay_ms: 1,
            ..RetryPolicy::default()
        },
        ..Settings::default()
    };
    change(&mut settings);
    Adapter::new(described.unwrap(), settings).unwrap()
}

fn permit(adapter: &Adapter, tool: &str, arguments: &Value, may_retry: bool) -> Permit {
    let tool = &adapter.api().operation(tool).unwrap().tool;
    let settings = PolicySettings::default();
    let limits = RateLimits::default();
    let mut metadata = Metadata::derive(tool, &ServerFacts::default(), &[], &limits);
    metadata.idempotent = may_retry;
    let subject = Subject {
        id: &tool.id,
        enabled: true,
        rule: None,
        approval: Approval::Approved,
        metadata: &metadata,
    };
    let mut request = Request::plain(canon::params_hash(arguments));
    request.validity = Validity::Valid;
    request.confirmed = true;
    request.idempotency_key = Some("key-1");
    request.timeout_ms = Some(20_000);
    match decide(&Caller::local(&settings), &subject, &request, now_ms()).outcome {
        Outcome::Permitted(permit) => permit,
        other => panic!("{other:?}"),
    }
}

async fn call_as(
    adapter: &Adapter,
    tool: &str,
    arguments: &Value,
    may_retry: bool,
) -> Result<Answer, Failure> {
    let permit = permit(adapter, tool, arguments, may_retry);
    let moment = Moment {
        now_ms: now_ms(),
        random: 0.5,
    };
    adapter.call(permit, arguments, moment, None).await
}

async fn call(adapter: &Adapter, tool: &str, arguments: &Value) -> Result<Answer, Failure> {
    call_as(adapter, tool, arguments, false).await
}

fn secret(text: &str) -> Secret {
    Secret::new(text)
}

fn usual(credential: Credential) -> Credentials {
    Credentials {
        usual: Some(credential),
        ..Credentials::default()
    }
}

#[tokio::test]
async fn a_form_arrives_as_it_was_meant() {
    let api = Api::start([Reply::json(200, &json!({"id": "o1"}))])
        .await
        .unwrap();
    let adapter = adapter(&api, |_| {});
    let arguments = json!({"amount": 5000, "items": [{"sku": "a", "n": 2}, {"sku": "b&c"}], "metadata": {"k": {"l": "ü"}}});
    let answer = call(&adapter, "create", &arguments).await.unwrap();
    assert_eq!(answer.content, Content::Json(json!({"id": "o1"})));
    assert_eq!(answer.result()["structuredContent"], json!({"id": "o1"}));
    let received = api.received();
    assert_eq!(
        received[0].header("content-type"),
        Some("application/x-www-form-urlencoded")
    );
    assert_eq!(
        received[0].form(),
        json!({"amount": "5000", "items": [{"sku": "a", "n": "2"}, {"sku": "b&c"}], "metadata": {"k": {"l": "ü"}}})
    );
}

#[tokio::test]
async fn a_call_needs_a_permit_for_exactly_this_call() {
    let api = Api::start([]).await.unwrap();
    let adapter = adapter(&api, |_| {});
    let permit = permit(&adapter, "list", &json!({"page": 1}), false);
    let moment = Moment {
        now_ms: now_ms(),
        random: 0.5,
    };
    let outcome = adapter
        .call(permit, &json!({"page": 2}), moment, None)
        .await;
    assert_eq!(outcome, Err(Failure::Misused));
    assert!(api.received().is_empty());
}

#[tokio::test]
async fn credentials_go_where_the_description_says() {
    let api = Api::start([]).await.unwrap();
    let token = Credential {
        secret: Some(secret("sk_test_123456")),
        ..Credential::default()
    };
    let with = adapter(&api, |settings| settings.credentials = usual(token.clone()));
    call(&with, "create", &json!({})).await.unwrap();
    call(&with, "list", &json!({})).await.unwrap();
    let named = Credential {
        username: Some(secret("ada")),
        ..token.clone()
    };
    let basic = adapter(&api, |settings| settings.credentials = usual(named));
    call(&basic, "create", &json!({})).await.unwrap();
    let key = |text: &str| Credential {
        secret: Some(secret(text)),
        ..Credential::default()
    };
    let several = adapter(&api, |settings| {
        let named = [("key", "k 1"), ("head", "k2"), ("cookie", "k3")];
        let schemes = named.map(|(name, text)| (name.to_owned(), key(text)));
        settings.credentials.schemes = schemes.into_iter().collect();
        settings.headers = vec![("X-Version".to_owned(), Secret::new("2024"))];
    });
    call(&several, "both", &json!({})).await.unwrap();
    let none = adapter(&api, |settings| {
        settings.credentials = usual(Credential {
            kind: Some(Kind::None),
            ..token.clone()
        });
    });
    call(&none, "create", &json!({})).await.unwrap();
    let received = api.received();
    let authorisation = |at: usize| received[at].header("authorization").map(str::to_owned);
    assert_eq!(authorisation(0).as_deref(), Some("Bearer sk_test_123456"));
    assert_eq!(authorisation(1), None);
    assert_eq!(
        authorisation(2).as_deref(),
        Some("Basic YWRhOnNrX3Rlc3RfMTIzNDU2")
    );
    assert_eq!(received[3].query(), json!({"api_key": "k 1"}));
    assert_eq!(received[3].header("x-key"), Some("k2"));
    assert_eq!(received[3].header("cookie"), Some("sid=k3"));
    assert_eq!(received[3].header("x-version"), Some("2024"));
    assert_eq!(authorisation(4), None);
}

#[tokio::test]
async fn a_client_gets_its_token_once_and_renews_one_that_is_refused() {
    let token = |name: &str| Reply::json(200, &json!({"access_token": name, "expires_in": 3600}));
    let refused = Reply::json(401, &json!({"message": "expired"}));
    let api = Api::start([
        token("first-token"),
        Reply::json(200, &json!({"ok": 1})),
        refused,
        token("second-token"),
        Reply::json(200, &json!({"seen": "second-token"})),
    ])
    .await
    .unwrap();
    let adapter = adapter(&api, |settings| {
        settings.credentials = usual(Credential {
            secret: Some(secret("client-secret")),
            client_id: Some(secret("client")),
            scopes: vec!["orders:read".to_owned()],
            ..Credential::default()
        });
    });
    call(&adapter, "client", &json!({})).await.unwrap();
    let answer = call(&adapter, "client", &json!({})).await.unwrap();
    // What comes back of a token is not shown.
    assert_eq!(answer.content, Content::Json(json!({"seen": "***"})));
    let received = api.received();
    let targets: Vec<&str> = received.iter().map(|r| r.target.as_str()).collect();
    assert_eq!(
        targets,
        ["/token", "/client", "/client", "/token", "/client"]
    );
    assert_eq!(
        received[0].form(),
        json!({"grant_type": "client_credentials", "scope": "orders:read"})
    );
    assert_eq!(
        received[1].header("authorization"),
        Some("Bearer first-token")
    );
    assert_eq!(
        received[4].header("authorization"),
        Some("Bearer second-token")
    );
}

#[tokio::test]
async fn a_refresh_token_is_used_and_a_refusal_explained() {
    let wrong = || Reply::json(400, &json!({"error": "invalid_client"}));
    let api = Api::start([wrong(), wrong()]).await.unwrap();
    let adapter = adapter(&api, |settings| {
        settings.credentials = usual(Credential {
            secret: Some(secret("client-secret")),
            client_id: Some(secret("client")),
            refresh_token: Some(secret("refresh-1")),
            ..Credential::default()
        });
    });
    let failure = call(&adapter, "client", &json!({})).await.unwrap_err();
    assert!(failure.to_string().contains("invalid_client"), "{failure}");
    let forms: Vec<Value> = api.received().iter().map(Received::form).collect();
    assert_eq!(forms[0]["refresh_token"], "refresh-1");
    assert_eq!(forms[1]["client_secret"], "client-secret");
    let shown = toolcrib_upstream::mcp::Failure::from(failure).to_string();
    assert!(!shown.contains("client-secret"), "{shown}");
}

#[tokio::test]
async fn an_error_keeps_the_providers_words_and_says_what_to_do() {
    let declined = json!({"error": {"message": "Your card was declined; key sk_live_secret1", "code": "card_declined"}});
    let api = Api::start([
        Reply::json(402, &declined),
        Reply::json(403, &json!({})),
        Reply::json(429, &json!({})).with("retry-after", "7"),
        Reply {
            status: 502,
            headers: vec![("content-type", "text/html".to_owned())],
            body: b"<html>".to_vec(),
        },
    ])
    .await
    .unwrap();
    let adapter = adapter(&api, |settings| {
        settings.credentials = usual(Credential {
            secret: Some(secret("sk_live_secret1")),
            ..Credential::default()
        });
    });
    let answer = call(&adapter, "create", &json!({"amount": 1}))
        .await
        .unwrap();
    let result = answer.result();
    let error = &result["structuredContent"]["error"];
    assert_eq!(result["isError"], true);
    assert_eq!(error["status"], 402);
    assert_eq!(error["message"], "Your card was declined; key ***");
    assert_eq!(error["meaning"], "The card was declined");
    assert_eq!(error["provider"]["error"]["code"], "card_declined");
    let expected = [
        ("scoped", "orders:read"),
        ("list", "Wait 7 s"),
        ("list", "Look before"),
    ];
    for (tool, part) in expected {
        let answer = call(&adapter, tool, &json!({})).await.unwrap();
        let suggestion = answer.error.clone().unwrap().suggestion;
        assert!(suggestion.contains(part), "{suggestion}");
    }
}

#[tokio::test]
async fn only_what_may_be_repeated_is_tried_again() {
    let busy = || Reply::json(503, &json!({}));
    let api = Api::start([
        busy(),
        busy(),
        Reply::json(200, &json!({"ok": true})),
        busy(),
    ])
    .await
    .unwrap();
    let adapter = adapter(&api, |_| {});
    let (sent, arguments) = (Sent::default(), json!({}));
    let moment = Moment {
        now_ms: now_ms(),
        random: 0.5,
    };
    let permit = permit(&adapter, "list", &arguments, true);
    let calling = adapter.call_counted(permit, &arguments, moment, None, &sent);
    let answer = calling.await.unwrap();
    assert_eq!((answer.status, api.received().len()), (200, 3));
    assert_eq!(sent.times(), 3);
    let answer = call_as(&adapter, "create", &json!({"amount": 1}), false)
        .await
        .unwrap();
    assert_eq!((answer.status, api.received().len()), (503, 4));
}

#[tokio::test]
async fn idempotency_keys_travel_in_the_header_of_the_api() {
    let api = Api::start([]).await.unwrap();
    let silent = adapter(&api, |_| {});
    call(&silent, "create", &json!({"amount": 1}))
        .await
        .unwrap();
    let stated = adapter(&api, |settings| {
        settings.idempotency_header = Some("X-Once".to_owned());
    });
    call(&stated, "create", &json!({"amount": 1}))
        .await
        .unwrap();
    call(&stated, "list", &json!({})).await.unwrap();
    let received = api.received();
    assert_eq!(received[0].header("idempotency-key"), None);
    assert_eq!(received[1].header("x-once"), Some("key-1"));
    assert_eq!(received[2].header("x-once"), None);
    let known = adapter(&api, |settings| settings.base_url = None);
    let operation = |name: &str| known.api().operation(name).unwrap();
    assert!(known.honours_key(operation("create")));
    assert!(!known.honours_key(operation("list")));
}

#[tokio::test]
async fn paging_hints_are_passed_on() {
    let rows: Vec<(Reply, Value)> = vec![
        (
            Reply::json(200, &json!([])).with(
                "link",
                "<https://x.com/orders?page=3&secret=1>; rel=\"next\", </>; rel=\"prev\"",
            ),
            json!({"page": 3}),
        ),
        (
            Reply::json(200, &json!({"next_cursor": "c2"})),
            json!({"cursor": "c2"}),
        ),
        (
            Reply::json(200, &json!({"next_cursor": 7})),
            json!({"cursor": "7"}),
        ),
        (
            Reply::json(200, &json!({"meta": {"next": "/orders?cursor=c3"}})),
            json!({"cursor": "c3"}),
        ),
        (
            Reply::json(200, &json!({"has_more": true, "data": [{"id": "o9"}]})),
            json!({"starting_after": "o9"}),
        ),
        (Reply::json(200, &json!({"next": null})), Value::Null),
    ];
    let api = Api::start(rows.iter().map(|(reply, _)| reply.clone()))
        .await
        .unwrap();
    let adapter = adapter(&api, |_| {});
    for (_, expected) in rows {
        let answer = call(&adapter, "list", &json!({})).await.unwrap();
        assert_eq!(answer.next.clone().unwrap_or_default(), expected);
        assert_eq!(answer.result()["_meta"]["toolcrib/next"], expected);
    }
}

#[tokio::test]
async fn bytes_and_nothing_are_results_too() {
    let image = Reply {
        status: 200,
        headers: vec![("content-type", "image/png".to_owned())],
        body: vec![0x89, 0x50, 0xff],
    };
    let pdf = Reply {
        headers: vec![("content-type", "application/pdf".to_owned())],
        ..image.clone()
    };
    let nothing = Reply {
        status: 204,
        headers: Vec::new(),
        body: Vec::new(),
    };
    let text = Reply {
        headers: vec![("content-type", "text/csv".to_owned())],
        body: b"a,b".to_vec(),
        ..image.clone()
    };
    let api = Api::start([image, pdf, nothing, text]).await.unwrap();
    let adapter = adapter(&api, |_| {});
    for kind in ["image", "resource", "text", "text"] {
        let answer = call(&adapter, "list", &json!({})).await.unwrap();
        assert_eq!(answer.result()["content"][0]["type"], kind);
    }
}

#[tokio::test]
async fn a_redirect_to_another_host_is_not_followed() {
    let other = Api::start([]).await.unwrap();
    let api = Api::start([
        Reply::json(302, &json!({})).with("location", format!("{}/steal", other.url())),
        Reply::json(307, &json!({})).with("location", "/orders?page=2"),
        Reply::json(200, &json!({"page": 2})),
    ])
    .await
    .unwrap();
    let adapter = adapter(&api, |_| {});
    let outcome = call(&adapter, "list", &json!({})).await;
    assert!(matches!(outcome, Err(Failure::Elsewhere(_))), "{outcome:?}");
    assert!(other.received().is_empty());
    let answer = call(&adapter, "list", &json!({})).await.unwrap();
    assert_eq!(answer.content, Content::Json(json!({"page": 2})));
}

#[tokio::test]
async fn private_addresses_are_refused_unless_configured() {
    let api = Api::start([]).await.unwrap();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0x7f.1"] {
        let strict = adapter(&api, |settings| {
            settings.allow_private = false;
            settings.base_url = Some(format!("http://{host}:{}", api.port()));
        });
        let outcome = call(&strict, "list", &json!({})).await;
        assert!(
            matches!(outcome, Err(Failure::Private(_))),
            "{host}: {outcome:?}"
        );
    }
    assert!(api.received().is_empty());
}

#[tokio::test]
async fn credentials_are_not_sent_in_the_clear() {
    let api = Api::start([]).await.unwrap();
    let clear = adapter(&api, |settings| {
        settings.allow_private = false;
        settings.base_url = Some("http://api.example.com".to_owned());
        settings.credentials = usual(Credential {
            secret: Some(secret("sk_test_123456")),
            ..Credential::default()
        });
    });
    let outcome = call(&clear, "create", &json!({})).await;
    assert!(
        matches!(outcome, Err(Failure::Configuration(_))),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_body_that_unpacks_without_end_is_cut_off() {
    // 32 MiB of nothing, packed: a few stored blocks would do as well, but this is what gzip makes.
    let packed = gzip_of_zeros(32);
    assert!(packed.len() < 200_000, "{}", packed.len());
    let bomb = Reply {
        status: 200,
        headers: vec![
            ("content-type", "text/plain".to_owned()),
            ("content-encoding", "gzip".to_owned()),
        ],
        body: packed,
    };
    let api = Api::start([bomb]).await.unwrap();
    let adapter = adapter(&api, |_| {});
    let outcome = call(&adapter, "list", &json!({})).await;
    assert!(matches!(outcome, Err(Failure::TooLarge(_))), "{outcome:?}");
}

/// So many MiB of zeros as a gzip file, packed by Python, which the project needs anyway.
fn gzip_of_zeros(mebibytes: usize) -> Vec<u8> {
    let script = format!(
        "import gzip,sys; sys.stdout.buffer.write(gzip.compress(bytes({mebibytes} * 1024 * 1024)))"
    );
    let packed = std::process::Command::new("python3")
        .args(["-c", &script])
        .output();
    packed.unwrap().stdout
}

#[tokio::test]
async fn a_server_that_does_not_answer_in_time_is_left() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap();
    let port = listener.local_addr().unwrap().port();
    let api = Api::start([]).await.unwrap();
    let silent = adapter(&api, |settings| {
        settings.base_url = Some(format!("http://127.0.0.1:{port}"));
    });
    let arguments = json!({});
    let permit = permit(&silent, "list", &arguments, false);
    let moment = Moment {
        now_ms: permit.deadline_ms() - 50,
        random: 0.5,
    };
    let outcome = silent.call(permit, &arguments, moment, None).await;
    assert!(matches!(outcome, Err(Failure::TimedOut(_))), "{outcome:?}");
    // Bound and not listened to: nobody else can take it, and whoever connects is refused.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let away = adapter(&api, |settings| {
        settings.base_url = Some(format!("http://{}", held.local_addr().unwrap()));
    });
    let gone = call(&away, "list", &arguments).await;
    assert!(
        matches!(&gone, Err(failure @ Failure::Unreachable(_)) if failure.was_not_delivered()),
        "{gone:?}"
    );
}

#[tokio::test]
async fn the_api_is_told_the_trace_unless_the_configuration_names_one() {
    let api = Api::start([]).await.unwrap();
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let arguments = json!({});
    for (state, own, expected) in [
        (None, None, (Some(parent), None)),
        (Some("a=1"), None, (Some(parent), Some("a=1"))),
        (Some("a=1"), Some("mine"), (Some("mine"), None)),
    ] {
        let adapter = adapter(&api, |settings| {
            let header = own.map(|own| ("Traceparent".to_owned(), secret(own)));
            settings.headers.extend(header);
        });
        let permit = permit(&adapter, "list", &arguments, false);
        let moment = Moment {
            now_ms: now_ms(),
            random: 0.5,
        };
        let trace = SpanContext::parse(parent, state);
        let outcome = adapter.call(permit, &arguments, moment, trace.as_ref());
        outcome.await.unwrap();
        let received = api.received().pop().unwrap();
        let told = ["traceparent", "tracestate"].map(|name| received.header(name));
        assert_eq!((told[0], told[1]), expected);
    }
    call(&adapter(&api, |_| {}), "list", &arguments)
        .await
        .unwrap();
    assert_eq!(api.received().pop().unwrap().header("traceparent"), None);
}
