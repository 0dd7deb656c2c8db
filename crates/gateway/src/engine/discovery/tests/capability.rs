//! What becomes of lists beyond the cache: manifests, registration and files.

use std::sync::Arc;

use serde_json::json;
use toolcrib_config::placeholder::{Dialect as Placeholders, Template};
use toolcrib_core::policy::ApprovalMode;
use toolcrib_store::approval::observation::{Definition, Observation};
use toolcrib_store::{SqliteOptions, Store};
use toolcrib_upstream::mcp::oauth::TokenStore;

use super::*;
use crate::capability::market::{CapabilityCatalog as _, Shelf};
use crate::capability::trial::tests::Given;
use crate::engine::clock::Clock;
use crate::tokens::Tokens;

async fn shelf(home: &tempfile::TempDir) -> (Store, Arc<Shelf>) {
    let options = SqliteOptions::new(home.path().join("t.db"));
    let store = Store::open_sqlite(options, uuid::Uuid::now_v7())
        .await
        .unwrap();
    let shelf = Shelf::new(store.clone(), Clock::new(|| 1_000, |bytes| bytes.fill(1)));
    (store, Arc::new(shelf))
}

fn registering() -> DiscoveryOptions {
    DiscoveryOptions {
        register_in_marketplace: true,
        ..DiscoveryOptions::default()
    }
}

/// Accepts the definitions of a list as the rule of the first list does.
async fn accept(store: &Store, scene: &Scene, listing: &Listing, server: &Server) {
    let manifests = scene.service.manifests(listing, server);
    let tools = manifests.iter().map(|manifest| Definition {
        tool: manifest.provider.tool_name.clone(),
        hash: manifest.definition.to_string(),
        definition: String::new(),
    });
    let observation = Observation {
        server: server.name.clone(),
        tools: tools.collect(),
        mode: ApprovalMode::Changed,
        first_list_accepted: true,
    };
    store.observe(observation, 1_000).await.unwrap();
}

#[tokio::test]
async fn what_is_found_is_known_and_in_the_marketplace_once_it_is_accepted() {
    let home = tempfile::tempdir().unwrap();
    let (store, shelf) = shelf(&home).await;
    let mut scene = Scene::new();
    scene.service = scene
        .service
        .with_marketplace(Arc::<Shelf>::clone(&shelf))
        .with_catalog(Arc::<Shelf>::clone(&shelf));
    scene.stage.set("github", [tools(&["list_issues"])]);
    let server = child("github");
    let listing = scene
        .service
        .discover_tools(&server, &registering())
        .await
        .unwrap();
    assert_eq!(listing.warnings, Vec::<String>::new());
    let known = shelf.known("mcp.github.list_issues").await.unwrap();
    assert_eq!(known[0].domains, ["github", "github.issues"]);
    assert_eq!(known[0].categories, ["crud.read"]);
    assert_eq!(known[0].provider.server_url, "stdio:server");
    assert_eq!(shelf.registered().await.unwrap(), [], "nobody accepted it");
    let registration = scene.service.register_capability(&known[0]).await.unwrap();
    assert_eq!(
        (registration.marketplace, registration.catalog),
        (Some(false), true)
    );

    accept(&store, &scene, &listing, &server).await;
    assert_eq!(shelf.registered().await.unwrap(), known);
    let registration = scene.service.register_capability(&known[0]).await.unwrap();
    assert_eq!(registration.marketplace, Some(true));
    store.close().await;
}

#[tokio::test]
async fn without_integrations_registering_does_nothing() {
    let scene = Scene::new();
    scene.stage.set("a", [tools(&["x"])]);
    let listing = scene
        .service
        .discover_tools(&child("a"), &registering())
        .await
        .unwrap();
    let manifest = &scene.service.manifests(&listing, &child("a"))[0];
    let registration = scene.service.register_capability(manifest).await.unwrap();
    assert_eq!(registration, Registration::default());
    assert!(scene.service.marketplace().is_none());
}

#[tokio::test]
async fn export_writes_one_file_for_each_tool_below_its_server() {
    let home = tempfile::tempdir().unwrap();
    let scene = Scene::new();
    scene.stage.set("a", [tools(&["x", "y"])]);
    let options = DiscoveryOptions {
        export_to_rtfs: true,
        export_directory: Some(home.path().join("pending")),
        use_cache: true,
        ..DiscoveryOptions::default()
    };
    scene
        .service
        .discover_tools(&child("a"), &options)
        .await
        .unwrap();
    let text = std::fs::read_to_string(home.path().join("pending/a/x.rtfs")).unwrap();
    assert!(
        text.starts_with("(capability :mcp.a.x\n  :version \"1.0.0\""),
        "{text}"
    );
    assert!(home.path().join("pending/a/y.rtfs").is_file());
    std::fs::remove_dir_all(home.path().join("pending")).unwrap();
    scene
        .service
        .discover_tools(&child("a"), &options)
        .await
        .unwrap();
    assert_eq!(scene.stage.count("a"), 1, "the kept list is exported too");
    assert!(home.path().join("pending/a/x.rtfs").is_file());

    let blocked = home.path().join("blocked");
    std::fs::write(&blocked, "a file").unwrap();
    let options = DiscoveryOptions {
        export_directory: Some(blocked),
        ..options
    };
    let listing = scene
        .service
        .discover_tools(&child("a"), &options)
        .await
        .unwrap();
    assert_eq!(listing.items.len(), 2);
    assert!(
        listing.warnings[0].contains("no capability files are written"),
        "{:?}",
        listing.warnings
    );
}

#[tokio::test]
async fn outputs_are_learnt_when_forced_and_marked() {
    let home = tempfile::tempdir().unwrap();
    let mut scene = Scene::new();
    scene.stage.set("a", [tools(&["x"])]);
    let given = Arc::new(Given::new(true, json!({"structuredContent": {"n": 1}})));
    scene.service = scene.service.with_trial(Arc::<Given>::clone(&given));
    let lazy = DiscoveryOptions {
        introspect_output_schemas: true,
        export_to_rtfs: true,
        export_directory: Some(home.path().to_owned()),
        ..DiscoveryOptions::default()
    };
    let exported = || std::fs::read_to_string(home.path().join("a/x.rtfs")).unwrap();
    scene
        .service
        .discover_tools(&child("a"), &lazy)
        .await
        .unwrap();
    assert!(!exported().contains("output") && given.runs.lock().unwrap().is_empty());
    let forced = DiscoveryOptions {
        lazy_output_schemas: false,
        ..lazy
    };
    scene
        .service
        .discover_tools(&child("a"), &forced)
        .await
        .unwrap();
    assert!(
        exported().contains(":output-schema [:map\n    [:n :int]]"),
        "{}",
        exported()
    );
    assert!(exported().contains("inferred"));
    assert_eq!(given.runs.lock().unwrap().len(), 1);

    let failing = Arc::new(Given::new(true, json!("no")));
    scene.service = scene.service.with_trial(failing);
    scene
        .service
        .discover_tools(&child("a"), &forced)
        .await
        .unwrap();
    assert!(!exported().contains("output"), "a failure leaves no schema");
}

#[tokio::test]
async fn runtime_discovery_resolves_what_is_registered_before_it_looks_elsewhere() {
    let home = tempfile::tempdir().unwrap();
    let (store, shelf) = shelf(&home).await;
    let scene = Scene::new();
    scene.stage.set("github", [tools(&["list_issues"])]);
    let server = child("github");
    scene.service.configure(vec![server.clone()]);
    let runtime = RuntimeDiscovery::with_discovery_service(
        Arc::new(scene.service.clone()),
        Some(Arc::<Shelf>::clone(&shelf)),
    );
    let options = cached();
    let manifests = runtime.discover(&server, &options).await.unwrap();
    assert_eq!(manifests.len(), 1);
    let found = runtime
        .resolve("mcp.github.list_issues", &options)
        .await
        .unwrap();
    assert!(
        matches!(&found, Found::Candidates(servers) if servers.len() == 1),
        "{found:?}"
    );
    let listing = runtime
        .service()
        .discover_tools(&server, &options)
        .await
        .unwrap();
    accept(&store, &scene, &listing, &server).await;
    for name in ["mcp.github.list_issues", "list_issues"] {
        let found = runtime.resolve(name, &options).await.unwrap();
        assert!(matches!(&found, Found::Registered(manifest) if **manifest == manifests[0]));
    }
    let surroundings = toolcrib_config::surroundings::Surroundings::new(
        toolcrib_config::surroundings::Os::Linux,
        home.path(),
        home.path(),
        |_| None,
    );
    let alone = RuntimeDiscovery::new(surroundings, None, None);
    assert!(alone.service().kept_tools(&server).is_none());
    store.close().await;
}

/// What a server hears at its first request.
async fn heard(listener: tokio::net::TcpListener) -> String {
    use tokio::io::AsyncReadExt;
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut heard = Vec::new();
    while !heard.windows(4).any(|end| end == b"\r\n\r\n") {
        assert!(socket.read_buf(&mut heard).await.unwrap() > 0);
    }
    String::from_utf8_lossy(&heard).into_owned()
}

#[tokio::test]
async fn runtime_discovery_proves_itself_where_somebody_logged_in() {
    let home = tempfile::tempdir().unwrap();
    let (store, _) = shelf(&home).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let tokens: Arc<dyn TokenStore> = Arc::new(Tokens::new(store.clone(), || 1_000));
    let record = json!({
        "resource": url,
        "redirect_uri": "http://127.0.0.1/",
        "credentials": {
            "client_id": "c",
            "token_response": {"access_token": "t0ken", "token_type": "bearer"},
        },
    });
    let record = Secret::new(record.to_string());
    let saved = tokens.save("https://issuer.example", "api", &record, None);
    assert!(saved.await.unwrap());
    let surroundings = toolcrib_config::surroundings::Surroundings::new(
        toolcrib_config::surroundings::Os::Linux,
        home.path(),
        home.path(),
        |_| None,
    );
    let runtime = RuntimeDiscovery::new(surroundings, Some(tokens), None);
    let (server, options) = (remote("api", &url), DiscoveryOptions::default());
    let heard = tokio::select! {
        heard = heard(listener) => heard,
        found = runtime.discover(&server, &options) => panic!("{found:?}"),
    };
    let heard = heard.to_ascii_lowercase();
    assert!(heard.contains("authorization: bearer t0ken"), "{heard}");
    store.close().await;
}

#[tokio::test]
async fn a_provider_sends_the_headers_of_its_own_definition() {
    let scene = Scene::new();
    scene.stage.set("api", [tools(&["x"])]);
    let mut server = remote("api", "https://api.example/mcp");
    let Transport::Http(way) = &mut server.transport else {
        unreachable!()
    };
    let own = |text: &str| Template::parse(text, Placeholders::Own).unwrap();
    way.headers.insert("X-Team".into(), own("${TEAM}"));
    way.headers.insert("X-Unset".into(), own("${NOWHERE}"));
    server.handling.bearer = Some(own("${TOKEN}"));
    let lookup = |name: &str| match name {
        "TEAM" => Some("blue".to_owned()),
        "TOKEN" => Some("t0ken".to_owned()),
        _ => None,
    };
    let provider = DiscoveryProvider::new(scene.service.clone(), server, &lookup);
    let manifests = provider
        .capabilities(&DiscoveryOptions::default())
        .await
        .unwrap();
    assert_eq!(manifests[0].id, "mcp.api.x");
    assert_eq!(provider.server().name, "api");
    let asked = scene.stage.asked.lock().unwrap();
    let Transport::Http(sent) = &asked[0].server.transport else {
        unreachable!()
    };
    let value = |name: &str| sent.headers[name].exact().expose().to_owned();
    assert_eq!(value("X-Team"), "blue");
    assert_eq!(value("Authorization"), "Bearer t0ken");
    drop(asked);
    let child = DiscoveryProvider::new(scene.service.clone(), child("c"), &|_| None);
    assert_eq!(child.server().name, "c");
}
