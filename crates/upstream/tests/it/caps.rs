//! How many connections there may be: the one that was unused for longest gives way, and where all are
//! in use nothing more is opened.

use std::sync::Arc;

use futures::future::join_all;
use serde_json::json;
use toolcrib_core::limits::{CHILDREN_MAX, CONNECTIONS_MAX, CONNECTIONS_PER_SERVER_MAX};
use toolcrib_upstream::mcp::credential::Credentials;
use toolcrib_upstream::mcp::{
    Address, CallError, Command, Dialer, Endpoint, EraMemory, Failure, Key, Pool, Surroundings, Way,
};

use crate::fixture::{now_ms, patient};
use crate::scripted::{Act, Scripted, fine};

/// A server that answers everything but `ping`, which it keeps for ever where `busy` is in its place.
fn scripted(busy: bool) -> Arc<Scripted> {
    Scripted::new(move |_, message| match message["method"].as_str() {
        Some("ping") if busy => Act::Nothing,
        Some("ping") => Act::Answer(json!({})),
        _ => fine(message),
    })
}

fn child() -> Way {
    Way::Stdio(Command::new("scripted"))
}

fn remote() -> Way {
    Way::Http(Address {
        url: "https://x.test/mcp".parse().unwrap(),
        authorisation: Arc::new(Credentials::none("x")),
    })
}

/// A pool with so many servers, named by their numbers.
fn pool(dialer: &Arc<Scripted>, servers: usize, way: &Way) -> Pool {
    let pool = Pool::new(Surroundings {
        dialer: Arc::clone(dialer) as Arc<dyn Dialer>,
        memory: Arc::new(EraMemory::default()),
        now_ms: Arc::new(now_ms),
        random: Arc::new(|| 0.5),
    });
    let endpoint = |number: usize| {
        let mut endpoint = Endpoint::new(number.to_string(), way.clone());
        endpoint.idle_close = None;
        endpoint
    };
    pool.configure((0..servers).map(endpoint).collect());
    pool
}

async fn ping(pool: &Pool, server: usize, key: &Key) -> Result<(), CallError> {
    let server = server.to_string();
    let asked = pool.ask(&server, key, "ping", None, patient());
    asked.await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn no_more_connections_are_open_than_there_may_be() {
    for (way, most) in [(child(), CHILDREN_MAX), (remote(), CONNECTIONS_MAX)] {
        let dialer = scripted(false);
        let pool = pool(&dialer, most + 10, &way);
        for server in 0..most + 10 {
            ping(&pool, server, &Key::Shared).await.unwrap();
            assert!(dialer.opened() - dialer.closed() <= most);
        }
        assert_eq!(dialer.opened(), most + 10);
        assert!(
            !pool.is_connected("0"),
            "the one that was unused for longest gave way"
        );
        assert!(pool.is_connected(&most.to_string()));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_in_use_does_not_give_way() {
    for (way, most) in [(child(), CHILDREN_MAX), (remote(), CONNECTIONS_MAX)] {
        let dialer = scripted(true);
        let pool = pool(&dialer, most + 1, &way);
        let busy: Vec<_> = (0..most)
            .map(|server| Box::pin(ping(&pool, server, &Key::Shared)))
            .collect();
        let busy = join_all(busy);
        let late = async {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            let listing = pool.connect(&most.to_string(), &Key::Shared).await;
            listing.unwrap_err()
        };
        tokio::select! {
            _ = busy => panic!("nobody answers"),
            error = late => {
                assert_eq!(error.failure(), Some(&Failure::Overloaded));
            }
        }
        assert_eq!(dialer.opened(), most);
    }
}

#[tokio::test(start_paused = true)]
async fn the_number_of_children_can_be_set_while_some_run() {
    let dialer = scripted(false);
    let pool = pool(&dialer, 8, &child());
    pool.allow_children(3);
    let all = async || {
        for server in 0..8 {
            ping(&pool, server, &Key::Shared).await.unwrap();
        }
        // What gave way is closed by then.
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        dialer.opened() - dialer.closed()
    };
    assert_eq!(all().await, 3);
    pool.allow_children(1);
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    assert_eq!(dialer.opened() - dialer.closed(), 1, "what is unused goes");
    assert!(pool.is_connected("7"), "the one that was used last stays");
    assert_eq!(all().await, 1);
    pool.allow_children(5);
    assert_eq!(all().await, 5);
}

#[tokio::test(start_paused = true)]
async fn one_server_has_so_many_connections_and_no_more() {
    let dialer = scripted(false);
    let pool = pool(&dialer, 1, &remote());
    for session in 0..CONNECTIONS_PER_SERVER_MAX + 10 {
        let key = Key::Session(session.to_string());
        ping(&pool, 0, &key).await.unwrap();
        // What gave way is closed by then.
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        assert!(dialer.opened() - dialer.closed() <= CONNECTIONS_PER_SERVER_MAX);
    }
    assert_eq!(dialer.closed(), 10);
}
