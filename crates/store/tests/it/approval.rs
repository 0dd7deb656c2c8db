//! What waits for a person, and what a person's word does.

use proptest::prelude::*;
use toolcrib_core::limits::{CONFIRMATION_KEPT_MS, CONFIRMATIONS_PENDING_MAX};
use toolcrib_core::policy::ApprovalMode;
use toolcrib_store::approval::confirmation::{Call, Confirmed};
use toolcrib_store::approval::introduction::Introduction;
use toolcrib_store::approval::judgement::Standing;
use toolcrib_store::approval::observation::{Definition, Observation};
use toolcrib_store::approval::{Kind, State, Target, Verdict};
use toolcrib_store::{Begin, Store, StoreError, Tokens};

use crate::fixture::{Home, NOW, entry};

/// Tools written `name=version`.
fn list(mode: ApprovalMode, first_list_accepted: bool, tools: &str) -> Observation {
    let tools = tools.split_whitespace().map(|word| {
        let (tool, version) = word.split_once('=').unwrap();
        Definition {
            tool: tool.into(),
            hash: format!("hash-{version}"),
            definition: format!("{tool} does {version}"),
        }
    });
    Observation {
        server: "gh".into(),
        tools: tools.collect(),
        mode,
        first_list_accepted,
    }
}

/// Where each tool stands, as `name:standing` words.
async fn see(store: &Store, observation: Observation) -> String {
    let observed = store.observe(observation, NOW).await.unwrap();
    let words: Vec<_> = observed
        .iter()
        .map(|o| format!("{}:{:?}", o.tool, o.standing))
        .collect();
    words.join(" ")
}

async fn waiting(store: &Store) -> Vec<String> {
    let requests = store.approvals(Some(State::Pending), NOW).await.unwrap();
    let mut words: Vec<_> = requests
        .iter()
        .map(|r| format!("{} {} {}", r.kind.as_str(), r.tool, r.hash))
        .collect();
    words.sort();
    words
}

async fn settle(store: &Store, target: &str, verdict: Verdict) -> usize {
    let target = match target.split_once(':') {
        Some((server, tool)) => Target::Tool {
            server: server.into(),
            tool: tool.into(),
        },
        None if target == "gh" => Target::Server(target.into()),
        None => Target::Id(target.into()),
    };
    let settled = store
        .settle_approvals(&target, verdict, "ann", NOW)
        .await
        .unwrap();
    settled.len()
}

#[tokio::test]
async fn the_first_list_is_accepted_and_later_changes_wait() {
    let home = Home::new();
    let store = home.open().await;
    let changed = |tools| list(ApprovalMode::Changed, true, tools);
    assert_eq!(see(&store, changed("")).await, "", "not a first list");
    assert_eq!(
        see(&store, changed("a=1 b=1")).await,
        "a:AcceptedNew b:AcceptedNew"
    );
    assert_eq!(
        see(&store, changed("a=1 b=1")).await,
        "a:Unchanged b:Unchanged"
    );
    assert_eq!(
        see(&store, changed("a=2 b=1 c=1")).await,
        "a:PendingChanged b:Unchanged c:PendingNew"
    );
    assert_eq!(
        waiting(&store).await,
        ["tool a hash-2", "tool c hash-1"],
        "a rename is a new tool"
    );
    assert_eq!(store.pending_tools().await.unwrap()["gh"], 2);

    let a = Target::Tool {
        server: "gh".into(),
        tool: "a".into(),
    };
    let shown = store.show_approvals(&a, NOW).await.unwrap();
    assert_eq!(shown[0].accepted.as_deref(), Some("a does 1"));
    assert_eq!(shown[0].request.detail, "a does 2");

    assert_eq!(settle(&store, "gh:a", Verdict::Approve).await, 1);
    assert_eq!(settle(&store, "gh:c", Verdict::Reject).await, 1);
    assert_eq!(
        see(&store, changed("a=2 b=1 c=1")).await,
        "a:Unchanged b:Unchanged c:Rejected"
    );
    assert_eq!(
        see(&store, changed("a=2 b=1 c=2")).await,
        "a:Unchanged b:Unchanged c:PendingNew",
        "another definition is another question"
    );
    assert_eq!(settle(&store, "gh", Verdict::Approve).await, 1);
    assert_eq!(
        see(&store, changed("a=2 b=1 c=2")).await,
        "a:Unchanged b:Unchanged c:Unchanged"
    );
    store.close().await;
}

#[tokio::test]
async fn what_was_judged_before_somebody_settled_something_is_not_begun() {
    let home = Home::new();
    let (one, two) = (home.open().await, home.open().await);
    see(&one, list(ApprovalMode::All, true, "a=1")).await;
    let target = Target::Tool {
        server: "gh".into(),
        tool: "a".into(),
    };
    let mut mark = one.approval_mark().await.unwrap();
    // All in the same millisecond.
    let words = [
        (Verdict::Reject, 1),
        (Verdict::Approve, 1),
        (Verdict::Approve, 0),
    ];
    for (number, (verdict, settles)) in words.into_iter().enumerate() {
        let settled = two.settle_approvals(&target, verdict, "ann", NOW).await;
        assert_eq!(settled.unwrap().len(), settles);
        let asked = entry(&format!("r{number}"));
        let tokens = Tokens::default();
        let begun = one.begin_judged_execution(asked, Some("k"), mark, tokens);
        let begun = begun.await;
        let outdated = matches!(begun, Ok(Begin::Outdated));
        assert_eq!(outdated, settles > 0, "{number}: {begun:?}");
        mark = one.approval_mark().await.unwrap();
    }
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn what_one_process_settles_the_other_can_tell() {
    let home = Home::new();
    let (one, two) = (home.open().await, home.open().await);
    see(&one, list(ApprovalMode::All, true, "a=1 b=1")).await;
    let mut mark = one.approval_mark().await.unwrap();
    for (target, verdict) in [
        ("gh:a", Verdict::Approve),
        ("gh:b", Verdict::Reject),
        ("gh:b", Verdict::Approve),
    ] {
        let (server, tool) = target.split_once(':').unwrap();
        let target = Target::Tool {
            server: server.into(),
            tool: tool.into(),
        };
        let later = NOW + i64::from(verdict == Verdict::Approve);
        two.settle_approvals(&target, verdict, "ann", later)
            .await
            .unwrap();
        let next = one.approval_mark().await.unwrap();
        assert_ne!(next, mark);
        mark = next;
    }
    see(&one, list(ApprovalMode::All, true, "a=1 b=1")).await;
    assert_eq!(one.approval_mark().await.unwrap(), mark);
    let expired = one.approvals(Some(State::Expired), NOW).await.unwrap();
    assert!(expired.is_empty());
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn a_question_that_no_longer_matters_is_withdrawn() {
    let home = Home::new();
    let store = home.open().await;
    let changed = |tools| list(ApprovalMode::Changed, true, tools);
    see(&store, changed("a=1 b=1")).await;
    see(&store, changed("a=2 b=2")).await;
    let old = store.approvals(Some(State::Pending), NOW).await.unwrap();
    // One changes again, one goes away.
    see(&store, changed("a=3")).await;
    assert_eq!(waiting(&store).await, ["tool a hash-3"]);
    for request in &old {
        assert_eq!(settle(&store, &request.id, Verdict::Approve).await, 0);
    }
    // It comes back as it was accepted, and then with the question that was withdrawn.
    assert_eq!(
        see(&store, changed("a=1 b=2")).await,
        "a:Unchanged b:PendingChanged"
    );
    assert_eq!(waiting(&store).await, ["tool b hash-2"]);
    store.close().await;
}

#[tokio::test]
async fn with_all_every_tool_waits_for_a_person() {
    let home = Home::new();
    let store = home.open().await;
    let all = |tools| list(ApprovalMode::All, true, tools);
    assert_eq!(
        see(&store, all("a=1 b=1")).await,
        "a:PendingNew b:PendingNew"
    );
    settle(&store, "gh:a", Verdict::Approve).await;
    assert_eq!(
        see(&store, all("a=1 b=1")).await,
        "a:Unchanged b:PendingNew"
    );
    let changed = list(ApprovalMode::Changed, true, "a=1 b=1");
    assert_eq!(see(&store, changed).await, "a:Unchanged b:PendingNew");
    let off = list(ApprovalMode::Off, true, "a=2 b=1");
    assert_eq!(see(&store, off).await, "a:AcceptedChanged b:AcceptedNew");
    assert!(waiting(&store).await.is_empty(), "with off nothing waits");
    assert_eq!(
        see(&store, all("a=2 b=1")).await,
        "a:PendingNew b:PendingNew",
        "what no person accepted waits again"
    );
    store.close().await;
}

#[tokio::test]
async fn a_server_that_was_found_starts_pending_in_every_mode() {
    for mode in [ApprovalMode::Off, ApprovalMode::Changed, ApprovalMode::All] {
        let home = Home::new();
        let store = home.open().await;
        let found = |tools| list(mode, false, tools);
        assert_eq!(
            see(&store, found("a=1 b=1")).await,
            "a:PendingNew b:PendingNew"
        );
        assert_eq!(
            waiting(&store).await,
            ["server  ", "tool a hash-1", "tool b hash-1"]
        );
        assert_eq!(settle(&store, "gh", Verdict::Reject).await, 1);
        assert!(waiting(&store).await.is_empty(), "its tools go with it");
        assert_eq!(see(&store, found("a=1")).await, "a:Rejected");
        assert!(waiting(&store).await.is_empty());
        // A change of mind brings the server back, with what went with it.
        assert_eq!(settle(&store, "gh", Verdict::Approve).await, 3);
        assert_eq!(
            see(&store, found("a=1 b=1")).await,
            "a:Unchanged b:Unchanged"
        );
        let later = match mode {
            ApprovalMode::Off => "c:AcceptedNew",
            _ => "c:PendingNew",
        };
        assert_eq!(see(&store, found("c=1")).await, later);
        store.close().await;
    }
}

#[tokio::test]
async fn one_tool_of_a_found_server_can_be_approved_alone() {
    let home = Home::new();
    let store = home.open().await;
    let found = |tools| list(ApprovalMode::Changed, false, tools);
    see(&store, found("a=1 b=1")).await;
    settle(&store, "gh:a", Verdict::Approve).await;
    assert_eq!(
        see(&store, found("a=1 b=1")).await,
        "a:Unchanged b:PendingNew"
    );
    // Rejected, then approved after all.
    settle(&store, "gh:b", Verdict::Reject).await;
    assert_eq!(settle(&store, "gh:b", Verdict::Reject).await, 0);
    assert_eq!(settle(&store, "gh:b", Verdict::Approve).await, 1);
    assert_eq!(
        see(&store, found("a=1 b=1")).await,
        "a:Unchanged b:Unchanged"
    );
    assert_eq!(settle(&store, "nobody", Verdict::Approve).await, 0);
    assert_eq!(settle(&store, "gh:nothing", Verdict::Approve).await, 0);
    store.close().await;
}

#[tokio::test]
async fn a_tool_that_was_rejected_by_itself_stays_so_when_its_server_comes_back() {
    let home = Home::new();
    let store = home.open().await;
    let found = |tools| list(ApprovalMode::Changed, false, tools);
    see(&store, found("a=1 b=1")).await;
    settle(&store, "gh:a", Verdict::Reject).await;
    settle(&store, "gh", Verdict::Reject).await;
    assert_eq!(settle(&store, "gh", Verdict::Approve).await, 2);
    assert_eq!(
        see(&store, found("a=1 b=1")).await,
        "a:Rejected b:Unchanged"
    );
    store.close().await;
}

#[tokio::test]
async fn only_what_was_shown_is_approved() {
    let home = Home::new();
    let store = home.open().await;
    let found = |tools| list(ApprovalMode::Changed, false, tools);
    see(&store, found("a=1 b=1")).await;
    let server = Target::Server("gh".into());
    let shown = store.show_approvals(&server, NOW).await.unwrap();
    // Meanwhile the server changes one definition and adds another.
    see(&store, found("a=2 b=1 c=1")).await;
    let settled = store
        .settle_shown(&server, &shown, Verdict::Approve, "ann", NOW)
        .await
        .unwrap();
    let mut tools: Vec<_> = settled.iter().map(|r| r.tool.as_str()).collect();
    tools.sort_unstable();
    assert_eq!(tools, ["", "b"]);
    assert_eq!(
        see(&store, found("a=2 b=1 c=1")).await,
        "a:PendingNew b:Unchanged c:PendingNew"
    );
    store.close().await;
}

#[tokio::test]
async fn a_question_that_is_put_again_has_all_the_time_it_needs() {
    let home = Home::new();
    let store = home.open().await;
    let changed = |tools| list(ApprovalMode::Changed, true, tools);
    see(&store, changed("a=1")).await;
    let introduction = Introduction {
        detail: "{}".into(),
        expires_ms: NOW + 1_000,
    };
    let introduced = store.introduce(changed("a=2"), introduction, NOW).await;
    assert!(!introduced.unwrap().server_waits);
    let late = NOW + 2_000;
    store.purge(late).await.unwrap();
    let observed = store.observe(changed("a=2"), late).await.unwrap();
    assert_eq!(observed[0].standing, Standing::PendingChanged);
    let target = Target::Id(observed[0].request.clone().unwrap());
    let settled = store.settle_approvals(&target, Verdict::Approve, "ann", late);
    assert_eq!(settled.await.unwrap()[0].state, State::Approved);
    store.close().await;
}

#[tokio::test]
async fn a_repeated_name_is_judged_by_its_first_definition() {
    let home = Home::new();
    let store = home.open().await;
    let twice = list(ApprovalMode::Changed, true, "a=1 a=1 a=2");
    assert_eq!(
        see(&store, twice).await,
        "a:AcceptedNew a:AcceptedNew a:Rejected"
    );
    store.close().await;
}

#[tokio::test]
async fn a_request_by_id_settles_what_was_shown_and_remembers_who() {
    let home = Home::new();
    let store = home.open().await;
    see(&store, list(ApprovalMode::All, true, "a=1")).await;
    let asked = store.approvals(None, NOW).await.unwrap();
    let tool = asked.iter().find(|r| r.kind == Kind::Tool).unwrap();
    assert!(tool.id.starts_with("t-"));
    let settled = store
        .settle_approvals(&Target::Id(tool.id.clone()), Verdict::Approve, "", NOW + 5)
        .await
        .unwrap();
    assert_eq!(settled[0].state, State::Approved);
    assert_eq!(settled[0].settled_by.as_deref(), Some("someone"));
    assert_eq!(settled[0].settled_ms, Some(NOW + 5));
    assert_eq!(
        see(&store, list(ApprovalMode::All, true, "a=1")).await,
        "a:Unchanged"
    );
    store.close().await;
}

fn call() -> Call {
    Call {
        server: "gh".into(),
        tool: "delete".into(),
        args_hash: "args".into(),
        caller: "ann".into(),
    }
}

fn other(change: fn(&mut Call)) -> Call {
    let mut other = call();
    change(&mut other);
    other
}

#[tokio::test]
async fn a_confirmation_holds_for_one_call_once() {
    let home = Home::new();
    let store = home.open().await;
    let asked = store.challenge(&call(), "{}", [1; 8], NOW).await.unwrap();
    assert_eq!(asked.id, "c-0101010101010101");
    let again = store.challenge(&call(), "{}", [2; 8], NOW).await.unwrap();
    assert_eq!(again.id, asked.id, "one question for one call");
    let usage =
        async |id: &str, call: &Call, now| store.use_challenge(id, call, now).await.unwrap();

    assert_eq!(usage(&asked.id, &call(), NOW).await, Confirmed::Waiting);
    assert_eq!(settle(&store, &asked.id, Verdict::Approve).await, 1);
    for wrong in [
        other(|c| c.server = "x".into()),
        other(|c| c.tool = "x".into()),
        other(|c| c.args_hash = "x".into()),
        other(|c| c.caller = "x".into()),
    ] {
        assert_eq!(usage(&asked.id, &wrong, NOW).await, Confirmed::Unknown);
    }
    assert_eq!(usage("c-nothing", &call(), NOW).await, Confirmed::Unknown);
    assert_eq!(usage(&asked.id, &call(), NOW).await, Confirmed::Granted);
    assert_eq!(usage(&asked.id, &call(), NOW).await, Confirmed::Used);
    let next = store.challenge(&call(), "{}", [3; 8], NOW).await.unwrap();
    assert_ne!(next.id, asked.id, "a used one does not come back");
    store.close().await;
}

#[tokio::test]
async fn a_confirmation_is_refused_after_a_no_or_ten_minutes() {
    let home = Home::new();
    let store = home.open().await;
    let end = NOW + CONFIRMATION_KEPT_MS;
    let refused = store.challenge(&call(), "", [1; 8], NOW).await.unwrap();
    assert_eq!(settle(&store, &refused.id, Verdict::Reject).await, 1);
    let usage = store.use_challenge(&refused.id, &call(), NOW).await;
    assert_eq!(usage, Ok(Confirmed::Rejected));
    assert_eq!(
        settle(&store, &refused.id, Verdict::Approve).await,
        0,
        "a no to a call is final"
    );
    let again = store.challenge(&call(), "", [4; 8], end - 1).await.unwrap();
    assert_eq!((again.id, again.state), (refused.id, State::Rejected));
    let anew = store.challenge(&call(), "", [5; 8], end).await.unwrap();
    assert_eq!(
        anew.state,
        State::Pending,
        "and may be asked anew after its time"
    );

    let other = other(|c| c.args_hash = "other".into());
    let usage = async |id: &str, now| store.use_challenge(id, &other, now).await.unwrap();
    let second = store.challenge(&other, "", [2; 8], NOW).await.unwrap();
    assert_eq!(usage(&second.id, end).await, Confirmed::Expired);
    let late = store
        .settle_approvals(&Target::Id(second.id.clone()), Verdict::Approve, "ann", end)
        .await
        .unwrap();
    assert_eq!(late[0].state, State::Expired);
    assert_eq!(usage(&second.id, NOW).await, Confirmed::Expired);

    // Approved in time, used too late.
    let third = store.challenge(&other, "", [3; 8], NOW).await.unwrap();
    settle(&store, &third.id, Verdict::Approve).await;
    assert_eq!(usage(&third.id, end).await, Confirmed::Expired);
    assert_eq!(usage(&third.id, end - 1).await, Confirmed::Granted);
    store.close().await;
}

#[tokio::test]
async fn only_so_many_confirmations_of_a_caller_wait() {
    let home = Home::new();
    let store = home.open().await;
    let ask = async |number: i64, now| {
        let mut call = call();
        call.args_hash = format!("args-{number}");
        let random = number.to_be_bytes();
        store.challenge(&call, "", random, now).await
    };
    for number in 0..CONFIRMATIONS_PENDING_MAX {
        ask(number, NOW).await.unwrap();
    }
    assert!(matches!(
        ask(-1, NOW).await,
        Err(StoreError::TooMany { .. })
    ));
    assert!(ask(-1, NOW + CONFIRMATION_KEPT_MS).await.is_ok());
    store.close().await;
}

/// What a person does between two lists.
#[derive(Clone, Debug)]
enum Act {
    See(ApprovalMode, Vec<(u8, u8)>),
    Approve(u8),
    Reject(u8),
    ApproveServer,
}

fn act() -> impl Strategy<Value = Act> {
    let mode = prop_oneof![
        Just(ApprovalMode::Off),
        Just(ApprovalMode::Changed),
        Just(ApprovalMode::All)
    ];
    let tools = proptest::collection::btree_map(0..3_u8, 0..3_u8, 0..4)
        .prop_map(|tools| tools.into_iter().collect());
    prop_oneof![
        4 => (mode, tools).prop_map(|(mode, tools)| Act::See(mode, tools)),
        1 => (0..3_u8).prop_map(Act::Approve),
        1 => (0..3_u8).prop_map(Act::Reject),
        1 => Just(Act::ApproveServer),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn in_strict_modes_only_what_was_accepted_is_usable(
        acts in proptest::collection::vec(act(), 1..12),
        accepted_first in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let home = Home::new();
            let store = home.open().await;
            // Every definition that a person or the rule of the first list ever accepted.
            let mut accepted = std::collections::HashSet::new();
            for act in acts {
                match act {
                    Act::See(mode, tools) => {
                        let words: Vec<_> = tools.iter().map(|(t, v)| format!("t{t}={v}")).collect();
                        let observation = list(mode, accepted_first, &words.join(" "));
                        let observed = store.observe(observation.clone(), NOW).await.unwrap();
                        let again = store.observe(observation, NOW).await.unwrap();
                        for ((tool, first), second) in tools.iter().zip(&observed).zip(&again) {
                            match first.standing {
                                Standing::AcceptedNew | Standing::AcceptedChanged => {
                                    assert_ne!(mode, ApprovalMode::All);
                                    assert_eq!(second.standing, Standing::Unchanged);
                                    accepted.insert(*tool);
                                }
                                Standing::Unchanged => {
                                    assert!(accepted.contains(tool), "{tool:?}");
                                }
                                _ => assert_eq!(first, second, "asking twice changes nothing"),
                            }
                        }
                    }
                    Act::Approve(_) | Act::ApproveServer => {
                        let target = match act {
                            Act::Approve(tool) => Target::Tool {
                                server: "gh".into(),
                                tool: format!("t{tool}"),
                            },
                            _ => Target::Server("gh".into()),
                        };
                        let settled = store
                            .settle_approvals(&target, Verdict::Approve, "ann", NOW)
                            .await
                            .unwrap();
                        for request in settled.iter().filter(|r| r.kind == Kind::Tool) {
                            let tool = request.tool[1..].parse().unwrap();
                            let version = request.hash["hash-".len()..].parse().unwrap();
                            accepted.insert((tool, version));
                        }
                    }
                    Act::Reject(tool) => {
                        settle(&store, &format!("gh:t{tool}"), Verdict::Reject).await;
                    }
                }
            }
            store.close().await;
        });
    }
}
