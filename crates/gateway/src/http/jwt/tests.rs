use std::io::Write;

use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgevZzL1gdAFr88hb2\nOF/2NxApJCzGCEDdfSp6VQO30hyhRANCAAQRWz+jn65BtOMvdyHKcvjBeBSDZH2r\n1RTwjmYSi9R/zpBnuQ4EiMnCqfMPWiZqB4QdbAd0E7oH50VpuZ1P087G\n-----END PRIVATE KEY-----\n";
/// The public half of [`PRIVATE`].
const X: &str = "EVs_o5-uQbTjL3chynL4wXgUg2R9q9UU8I5mEovUf84";
const Y: &str = "kGe5DgSIycKp8w9aJmoHhB1sB3QTugfnRWm5nU_TzsY";

fn tokens(dir: &std::path::Path) -> Tokens {
    let keys = json!({ "keys": [
        { "kty": "EC", "crv": "P-256", "x": X, "y": Y, "kid": "one", "alg": "ES256" },
        { "kty": "strange" },
    ]});
    let mut file = std::fs::File::create(dir.join("keys.json")).unwrap();
    file.write_all(keys.to_string().as_bytes()).unwrap();
    let settings = Jwt {
        issuer: "https://issuer.example".into(),
        audience: "https://crib.example/mcp".into(),
        jwks: "keys.json".into(),
        scope_claim: "scope".into(),
    };
    Tokens::new(&settings, dir).unwrap()
}

fn claims() -> Value {
    json!({
        "iss": "https://issuer.example", "aud": "https://crib.example/mcp", "sub": "ada",
        "exp": 2_000, "nbf": 1_000, "scope": "a:read b:write",
    })
}

fn signed(claims: &Value, id: Option<&str>) -> String {
    let header = Header {
        kid: id.map(str::to_owned),
        ..Header::new(Algorithm::ES256)
    };
    let key = EncodingKey::from_ec_pem(PRIVATE.as_bytes()).unwrap();
    encode(&header, claims, &key).unwrap()
}

#[tokio::test]
async fn a_token_of_the_issuer_names_its_subject_and_scopes() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(dir.path());
    for id in [Some("one"), None] {
        let token = tokens
            .check(&signed(&claims(), id), 1_500_000)
            .await
            .unwrap();
        assert_eq!(token.subject, "https://issuer.example#ada");
        assert_eq!(token.scopes, ["a:read", "b:write"]);
    }
    let mut listed = claims();
    listed["scope"] = json!(["x", 5]);
    let token = tokens
        .check(&signed(&listed, Some("one")), 1_500_000)
        .await
        .unwrap();
    assert_eq!(token.scopes, ["x"]);
}

#[tokio::test]
async fn anything_else_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(dir.path());
    let check = async |change: (&str, Value), now_ms: i64| {
        let mut claims = claims();
        claims[change.0] = change.1;
        let refused = tokens
            .check(&signed(&claims, Some("one")), now_ms)
            .await
            .unwrap_err();
        assert!(matches!(refused, Refused::Invalid(_)), "{claims}");
    };
    check(("iss", json!("https://other.example")), 1_500_000).await;
    check(("aud", json!("somebody else")), 1_500_000).await;
    check(("sub", json!("")), 1_500_000).await;
    check(("sub", Value::Null), 1_500_000).await;
    check(("exp", json!("soon")), 1_500_000).await;
    check(("x", json!(1)), 2_061_000).await;
    check(("x", json!(1)), 900_000).await;
    let good = signed(&claims(), Some("one"));
    assert!(
        tokens.check(&good, 2_059_000).await.is_ok(),
        "clocks may be a minute apart"
    );
    let (head, _) = good.rsplit_once('.').unwrap();
    let none = jsonwebtoken::encode(
        &Header::new(Algorithm::HS256),
        &claims(),
        &EncodingKey::from_secret(X.as_bytes()),
    )
    .unwrap();
    for bad in [
        format!("{head}.AAAA"),
        none,
        "garbage".into(),
        signed(&claims(), Some("two")),
    ] {
        let refused = tokens.check(&bad, 1_500_000).await.unwrap_err();
        assert!(matches!(refused, Refused::Invalid(_)), "{bad}");
    }
}

#[tokio::test]
async fn without_the_issuers_keys_nobody_is_refused_for_good() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(dir.path());
    std::fs::remove_file(dir.path().join("keys.json")).unwrap();
    let refused = tokens
        .check(&signed(&claims(), Some("one")), 1_500_000)
        .await;
    assert_eq!(refused, Err(Refused::Unavailable));
}

#[tokio::test]
async fn keys_that_could_not_be_read_are_asked_for_again_after_a_while() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(dir.path());
    let (file, away) = (dir.path().join("keys.json"), dir.path().join("away.json"));
    std::fs::rename(&file, &away).unwrap();
    let token = signed(&claims(), Some("one"));
    let check = || tokens.check(&token, 1_500_000);
    assert_eq!(check().await, Err(Refused::Unavailable));
    std::fs::rename(&away, &file).unwrap();
    assert_eq!(check().await, Err(Refused::Unavailable), "not at once");
    passes(JWKS_RETRY_MS).await;
    assert!(check().await.is_ok());
    std::fs::remove_file(&file).unwrap();
    passes(JWKS_TTL_MS).await;
    assert!(check().await.is_ok(), "old keys are better than none");
}

async fn passes(ms: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_millis(ms)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn tokens_of_keys_that_nobody_has_hold_up_nobody_else() {
    let issuer = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let settings = Jwt {
        issuer: "https://issuer.example".into(),
        audience: "https://crib.example/mcp".into(),
        jwks: format!("http://{}/keys", issuer.local_addr().unwrap()),
        scope_claim: "scope".into(),
    };
    let tokens = Arc::new(Tokens::new(&settings, std::path::Path::new("/")).unwrap());
    let (asked, mut heard) = tokio::sync::mpsc::channel(1);
    // It answers once, and is silent from then on.
    tokio::spawn(async move {
        let (mut first, _) = issuer.accept().await.unwrap();
        first.read_buf(&mut Vec::with_capacity(4096)).await.unwrap();
        let keys =
            json!({ "keys": [{ "kty": "EC", "crv": "P-256", "x": X, "y": Y, "kid": "one" }] });
        let keys = keys.to_string();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{keys}",
            keys.len()
        );
        first.write_all(answer.as_bytes()).await.unwrap();
        drop(first);
        let silent = issuer.accept().await.unwrap();
        asked.send(()).await.unwrap();
        std::future::pending::<()>().await;
        drop(silent);
    });
    let good = signed(&claims(), Some("one"));
    tokens.check(&good, 1_500_000).await.unwrap();
    passes(JWKS_REFETCH_MS).await;
    let stranger = signed(&claims(), Some("two"));
    let waiting = Arc::clone(&tokens);
    let waiting = tokio::spawn(async move { waiting.check(&stranger, 1_500_000).await });
    heard.recv().await.unwrap();
    tokens.check(&good, 1_500_000).await.unwrap();
    assert!(!waiting.is_finished());
    // Nor do they when the keys are due for another look.
    passes(JWKS_TTL_MS).await;
    tokens.check(&good, 1_500_000).await.unwrap();
    waiting.abort();
}

#[test]
fn keys_come_over_a_protected_way() {
    let check = |jwks: &str, good: bool| {
        let settings = Jwt {
            issuer: "i".into(),
            audience: "a".into(),
            jwks: jwks.into(),
            scope_claim: "scope".into(),
        };
        let made = Tokens::new(&settings, std::path::Path::new("/"));
        assert_eq!(made.is_ok(), good, "{jwks}");
    };
    check("https://issuer.example/keys", true);
    check("http://127.0.0.1:1/keys", true);
    check("http://issuer.example/keys", false);
    check("keys.json", true);
}
