//! Logging in, and tokens over their life.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::secret::Secret;
use toolcrib_testkit::issuer::{self, Issuer};
use toolcrib_testkit::remote::{Remote as StandIn, Settings};
use toolcrib_testkit::tokens::Memory;
use toolcrib_upstream::mcp::Failure;
use toolcrib_upstream::mcp::authorisation::Authorisation;
use toolcrib_upstream::mcp::credential::{self, Credentials};
use toolcrib_upstream::mcp::http::Remote;
use toolcrib_upstream::mcp::oauth::{
    self, DeviceLogin, Granted, Login, LoginError, OAuth, TokenStore, Wishes,
};

use super::remote::{Talk, bearer};

struct World {
    issuer: Issuer,
    stand_in: StandIn,
    memory: Arc<Memory>,
}

impl World {
    async fn new(settings: issuer::Settings, accepted: &str) -> Self {
        let issuer = Issuer::start(settings).await.unwrap();
        let stand_in = StandIn::start(Settings {
            tokens: vec![accepted.to_owned()],
            challenge: Some(issuer.challenge()),
            ..Settings::default()
        });
        let stand_in = stand_in.await.unwrap();
        issuer.protect(&format!("{}/mcp", stand_in.origin));
        let memory = Arc::default();
        Self {
            issuer,
            stand_in,
            memory,
        }
    }

    fn url(&self) -> url::Url {
        format!("{}/mcp", self.stand_in.origin).parse().unwrap()
    }

    fn wishes() -> Wishes {
        Wishes {
            redirect_uri: "http://127.0.0.1:9/callback".to_owned(),
            ..Wishes::default()
        }
    }

    async fn log_in(&self, wishes: &Wishes) -> Result<Granted, LoginError> {
        let login = Login::begin("remote", &self.url(), self.memory.clone(), wishes).await?;
        let returned = browse(login.address()).await;
        login.finish(&returned).await
    }

    async fn begin(&self) -> Result<Login, LoginError> {
        Login::begin("remote", &self.url(), self.memory.clone(), &Self::wishes()).await
    }

    async fn device(&self) -> Option<DeviceLogin> {
        let (url, wishes) = (self.url(), Self::wishes());
        let login = DeviceLogin::begin("remote", &url, self.memory.clone(), &wishes);
        login.await.unwrap()
    }

    fn oauth(&self) -> OAuth {
        OAuth::new(
            "remote",
            self.url(),
            self.memory.clone(),
            Credentials::none("remote"),
        )
    }

    fn talk(&self) -> Talk {
        Talk::over(Remote::new("remote", self.url(), Arc::new(self.oauth())))
    }

    fn grants(&self) -> Vec<String> {
        let forms = self.issuer.forms();
        forms
            .into_iter()
            .map(|(form, _)| form["grant_type"].clone())
            .collect()
    }
}

/// Does what a person's browser does: opens the address and is sent back.
async fn browse(address: &str) -> String {
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let response = browser.build().unwrap().get(address).send().await.unwrap();
    response.headers()["location"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_login_gives_tokens_that_requests_carry() {
    let world = World::new(issuer::Settings::default(), "access-1").await;
    let mut talk = world.talk();
    talk.ask(1, "tools/list").await;
    let text = talk.failure().await.to_string();
    assert!(text.contains("toolcrib login remote"), "{text}");
    let granted = world.log_in(&World::wishes()).await.unwrap();
    assert_eq!(
        granted.issuer.as_deref(),
        Some(world.issuer.origin.as_str())
    );
    assert_eq!(granted.scopes, ["read", "offline_access"]);
    // The link that was refused before uses the token without being opened again.
    talk.ask(2, "tools/list").await;
    assert_eq!(talk.answer().await.0, 2);
    let (form, _) = world.issuer.forms().remove(0);
    assert_eq!(form["resource"], world.url().as_str());
    assert!(!format!("{:?} {:?}", world.oauth(), world.memory).contains("access-1"));
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_and_the_request_goes_again() {
    let world = World::new(issuer::Settings::default(), "access-2").await;
    world.log_in(&World::wishes()).await.unwrap();
    let mut talk = world.talk();
    talk.ask(1, "tools/list").await;
    assert_eq!(talk.answer().await.0, 1);
    assert_eq!(world.grants(), ["authorization_code", "refresh_token"]);
    assert_eq!(
        world
            .stand_in
            .seen()
            .iter()
            .filter(|seen| seen.body["id"] == 1)
            .count(),
        2
    );
    let world = World::new(issuer::Settings::default(), "access-9").await;
    world.log_in(&World::wishes()).await.unwrap();
    let mut talk = world.talk();
    talk.ask(1, "tools/list").await;
    let failure = talk.failure().await;
    assert!(matches!(failure, Failure::Unauthorised(_)), "{failure:?}");
    assert_eq!(world.grants(), ["authorization_code", "refresh_token"]);
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let settings = issuer::Settings {
        lasts_s: 0,
        registration: issuer::Registration::Secret,
        ..issuer::Settings::default()
    };
    let world = World::new(settings, "access-2").await;
    world.log_in(&World::wishes()).await.unwrap();
    let mut talk = world.talk();
    talk.ask(1, "tools/list").await;
    assert_eq!(talk.answer().await.0, 1);
    assert_eq!(world.grants(), ["authorization_code", "refresh_token"]);
    // No request was wasted on the token that was about to end.
    assert_eq!(
        world
            .stand_in
            .seen()
            .iter()
            .filter(|seen| seen.body["id"] == 1)
            .count(),
        1
    );
    let forms = world.issuer.forms();
    assert!(
        forms[1]
            .1
            .as_deref()
            .is_some_and(|sent| sent.starts_with("Basic ")),
        "the client keeps its secret"
    );
}

#[tokio::test]
async fn many_requests_renew_a_token_once() {
    let settings = issuer::Settings {
        lasts_s: 0,
        ..issuer::Settings::default()
    };
    let world = World::new(settings, "access-2").await;
    world.log_in(&World::wishes()).await.unwrap();
    let oauth = Arc::new(world.oauth());
    let asked = (0..8).map(|_| {
        let oauth = Arc::clone(&oauth);
        async move { Authorisation::headers(&*oauth).await }
    });
    for headers in futures::future::join_all(asked).await {
        assert!(!headers.unwrap().is_empty());
    }
    let renewals = world
        .grants()
        .iter()
        .filter(|grant| *grant == "refresh_token")
        .count();
    assert_eq!(renewals, 1, "{:?}", world.grants());
}

#[tokio::test]
async fn a_renewal_that_nobody_waits_for_any_longer_is_kept() {
    let settings = issuer::Settings {
        lasts_s: 0,
        ..issuer::Settings::default()
    };
    let world = World::new(settings, "access-2").await;
    world.log_in(&World::wishes()).await.unwrap();
    let oauth = world.oauth();
    let renews = async {
        while !world.grants().contains(&"refresh_token".to_owned()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = renews => {}
        _ = Authorisation::headers(&oauth) => panic!("it was not given up before it was answered"),
    }
    // The old refresh token is spent: without the new one a person would have to log in again.
    let kept = async {
        while !world.memory.load("remote").await.unwrap()[0]
            .content
            .expose()
            .contains("access-2")
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), kept)
        .await
        .expect("the renewed token is written");
}

#[tokio::test]
async fn an_ended_login_asks_for_another() {
    let settings = issuer::Settings {
        lasts_s: 0,
        refuses: true,
        ..issuer::Settings::default()
    };
    let world = World::new(settings, "access-2").await;
    world.log_in(&World::wishes()).await.unwrap();
    let mut talk = world.talk();
    talk.ask(1, "tools/list").await;
    let text = talk.failure().await.to_string();
    assert!(text.contains("toolcrib login remote"), "{text}");
    assert!(text.contains("log in again"), "{text}");
}

#[tokio::test]
async fn a_login_gives_way_to_credentials_of_the_server_s_own() {
    let world = World::new(issuer::Settings::default(), "access-1").await;
    world.log_in(&World::wishes()).await.unwrap();
    let generic = |token: Option<&'static str>| {
        credential::choose(&credential::Given {
            server: "remote",
            url: &world.url(),
            instead: &[],
            headers: &[],
            bearer: None,
            variable: &|name| {
                token
                    .filter(|_| name == "MCP_AUTH_TOKEN")
                    .map(str::to_owned)
            },
        })
    };
    let check = async |credentials: Credentials, wanted: bool, sent: &str| {
        let tokens: Arc<dyn TokenStore> = world.memory.clone();
        let chosen =
            oauth::authorisation("remote", &world.url(), credentials, Some(tokens), wanted);
        let headers = chosen.headers().await.unwrap();
        assert_eq!(headers[0].1.expose(), sent);
    };
    check(bearer("own"), false, "Bearer own").await;
    check(bearer("own"), true, "Bearer access-1").await;
    check(generic(None), false, "Bearer access-1").await;
    check(generic(Some("any")), false, "Bearer access-1").await;
    let without = oauth::authorisation("remote", &world.url(), bearer("own"), None, true);
    assert_eq!(without.headers().await.unwrap()[0].1.expose(), "Bearer own");
}

#[tokio::test]
async fn tokens_stay_with_the_address_they_were_given_for() {
    let world = World::new(issuer::Settings::default(), "access-1").await;
    world.log_in(&World::wishes()).await.unwrap();
    let other = StandIn::start(Settings {
        tokens: vec!["access-1".to_owned()],
        ..Settings::default()
    });
    let other = other.await.unwrap();
    let url: url::Url = format!("{}/mcp", other.origin).parse().unwrap();
    let oauth = OAuth::new(
        "remote",
        url.clone(),
        world.memory.clone(),
        Credentials::none("remote"),
    );
    let mut talk = Talk::over(Remote::new("remote", url, Arc::new(oauth)));
    talk.ask(1, "tools/list").await;
    talk.failure().await;
    assert!(
        other
            .seen()
            .iter()
            .all(|seen| seen.header("authorization").is_none())
    );
}

#[tokio::test]
async fn an_answer_of_another_login_is_refused() {
    let world = World::new(issuer::Settings::default(), "access-1").await;
    let check = async |returned: &str, part: &str| {
        let login = world.begin().await.unwrap();
        let state = login.state().unwrap();
        let error = login
            .finish(&returned.replace("STATE", &state))
            .await
            .unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    };
    let callback = "http://127.0.0.1:9/callback";
    check(
        &format!("{callback}?code=code-1&state=other"),
        "another login",
    )
    .await;
    check(&format!("{callback}?code=code-1"), "another login").await;
    check(
        &format!("{callback}?state=STATE&error=access_denied"),
        "access_denied",
    )
    .await;
    check(&format!("{callback}?state=STATE"), "code").await;
    check(
        &format!("{callback}?state=STATE&code=code-1&iss=http://evil"),
        "issuer",
    )
    .await;
    check(
        &format!(
            "{callback}?state=STATE&code=wrong&iss={}",
            world.issuer.origin
        ),
        "invalid_grant",
    )
    .await;
    assert!(world.memory.is_empty());
}

#[tokio::test]
async fn a_client_that_is_registered_already_is_used() {
    let settings = issuer::Settings {
        registration: issuer::Registration::None,
        ..issuer::Settings::default()
    };
    let world = World::new(settings, "access-1").await;
    let error = world.log_in(&World::wishes()).await.unwrap_err();
    assert!(error.to_string().contains("--client-id"), "{error}");
    let wishes = Wishes {
        client_id: Some("known".to_owned()),
        client_secret: Some(Secret::new("hush")),
        scopes: vec!["write".to_owned()],
        ..World::wishes()
    };
    let granted = world.log_in(&wishes).await.unwrap();
    assert_eq!(granted.scopes, ["write", "offline_access"]);
}

#[tokio::test]
async fn a_server_without_a_login_says_so() {
    let stand_in = StandIn::start(Settings::default()).await.unwrap();
    let url = format!("{}/mcp", stand_in.origin).parse().unwrap();
    let wishes = World::wishes();
    let login = Login::begin("remote", &url, Arc::new(Memory::default()), &wishes);
    let error = login.await.unwrap_err();
    assert!(error.to_string().contains("no way to log in"), "{error}");
}

#[tokio::test]
async fn a_login_on_another_device_waits_for_its_person() {
    let world = World::new(issuer::Settings::default(), "access-1").await;
    assert!(world.device().await.is_none());
    let settings = issuer::Settings {
        device: true,
        ..issuer::Settings::default()
    };
    let world = World::new(settings, "access-1").await;
    let login = world.device().await.unwrap();
    assert_eq!(login.code().user_code, "WDJB-MJHT");
    assert!(login.code().verification_uri.ends_with("/activate"));
    login.finish().await.unwrap();
    let mut talk = world.talk();
    talk.ask(1, "tools/list").await;
    assert_eq!(talk.answer().await.0, 1);
}

#[tokio::test]
async fn missing_scopes_ask_for_a_wider_login() {
    let world = World::new(issuer::Settings::default(), "access-1").await;
    world.log_in(&World::wishes()).await.unwrap();
    let strict = StandIn::start(Settings {
        tokens: vec!["none".to_owned()],
        challenge: Some(r#"Bearer error="insufficient_scope", scope="write""#.to_owned()),
        ..Settings::default()
    });
    let strict = strict.await.unwrap();
    let mut talk = Talk::over(Remote {
        url: format!("{}/mcp", strict.origin).parse().unwrap(),
        ..Remote::new("remote", world.url(), Arc::new(world.oauth()))
    });
    talk.ask(1, "tools/call").await;
    let text = talk.failure().await.to_string();
    assert!(
        text.contains(r#"toolcrib login remote --scope "write""#),
        "{text}"
    );
}
