use std::io::Write;

use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::json;

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
