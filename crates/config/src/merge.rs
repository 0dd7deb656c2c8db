//! Servers from many files put together, without a silent choice.
//!
//! What a server runs decides which definitions are one server, not its name. The first definition
//! is kept; every other name under which it was found becomes an alias. Different servers under one
//! name are all kept, the later ones under a name that says which client they come from.

use std::collections::{HashMap, HashSet};
use std::fmt;

use toolcrib_core::limits;

use crate::model::server::{Origin, Server};

/// Something that merging had to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The same server was found again.
    Same {
        /// The name under which it is kept.
        kept: String,
        /// Where the definition that is kept comes from.
        kept_from: Origin,
        /// The name under which it was found again.
        other: String,
        /// Where it was found again.
        other_from: Origin,
        /// What the other definition says differently about how to treat it; the kept one counts.
        differs: Vec<&'static str>,
    },
    /// A different server has the same name.
    Conflict {
        /// The name, which the first keeps.
        name: String,
        /// Where the first comes from.
        kept_from: Origin,
        /// The name that the other gets.
        renamed: String,
        /// Where the other comes from.
        renamed_from: Origin,
    },
    /// There are more servers than one configuration may have.
    TooMany {
        /// How many are left out.
        left_out: usize,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same {
                kept,
                kept_from,
                other,
                other_from,
                differs,
            } => {
                write!(
                    f,
                    "\"{other}\" of {other_from} is the same server as \"{kept}\" of {kept_from}"
                )?;
                if !differs.is_empty() {
                    write!(
                        f,
                        "; they differ in {}, where {kept_from} counts",
                        differs.join(", ")
                    )?;
                }
                Ok(())
            }
            Self::Conflict {
                name,
                kept_from,
                renamed,
                renamed_from,
            } => write!(
                f,
                "\"{name}\" of {renamed_from} is another server than \"{name}\" of {kept_from}, so it is called \"{renamed}\""
            ),
            Self::TooMany { left_out } => write!(
                f,
                "{left_out} servers are left out, because a configuration has at most {}",
                limits::SERVERS_MAX
            ),
        }
    }
}

/// Servers after merging, each name and alias once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    /// The servers, in the order in which they were first met.
    pub servers: Vec<Server>,
    /// What had to be decided.
    pub findings: Vec<Finding>,
}

/// Merges servers; earlier ones have precedence. The same input always gives the same result.
pub fn merge(servers: impl IntoIterator<Item = Server>) -> Merged {
    let (mut kept, again) = distinct(servers);
    let mut findings = Vec::new();
    if kept.len() > limits::SERVERS_MAX {
        let left_out = kept.len() - limits::SERVERS_MAX;
        kept.truncate(limits::SERVERS_MAX);
        findings.push(Finding::TooMany { left_out });
    }
    named(kept, again, Names::default(), findings)
}

/// What `others` have that `known` does not, to be put beside `known`, which stays as it is: each server once, under a
/// name that nothing else has. None is left out for their number.
pub fn beside(known: &[Server], others: impl IntoIterator<Item = Server>) -> Merged {
    let mut names = Names::default();
    let mut first: HashMap<String, &Server> = HashMap::new();
    for server in known {
        names.hold(server);
        let kept = first.entry(identity(server)).or_insert(server);
        // Of several definitions one that is switched on is what a call reaches.
        if server.enabled && !kept.enabled {
            *kept = server;
        }
    }
    let mut findings = Vec::new();
    let mut new = Vec::new();
    for other in others {
        match first.get(&identity(&other)) {
            Some(kept) => findings.push(same(kept, &other)),
            None => new.push(other),
        }
    }
    let (kept, again) = distinct(new);
    named(kept, again, names, findings)
}

/// Whether two definitions are of one server, however it is called and handled.
pub fn is_same(one: &Server, other: &Server) -> bool {
    identity(one) == identity(other)
}

fn same(kept: &Server, other: &Server) -> Finding {
    Finding::Same {
        kept: kept.name.clone(),
        kept_from: kept.origin.clone(),
        other: other.name.clone(),
        other_from: other.origin.clone(),
        differs: differences(kept, other),
    }
}

/// Gives each server a name that is free, and the names under which it was found again as aliases.
fn named(
    mut kept: Vec<Server>,
    again: Vec<(usize, Server)>,
    mut names: Names,
    mut findings: Vec<Finding>,
) -> Merged {
    for server in &mut kept {
        findings.extend(names.give(server));
    }
    for (index, other) in again {
        let Some(server) = kept.get_mut(index) else {
            continue;
        };
        findings.push(same(server, &other));
        for alias in std::iter::once(other.name).chain(other.aliases) {
            if names.claim(&alias) {
                server.aliases.push(alias);
            }
        }
    }
    Merged {
        servers: kept,
        findings,
    }
}

/// The first definition of each server, and every further one with the index of its first.
fn distinct(servers: impl IntoIterator<Item = Server>) -> (Vec<Server>, Vec<(usize, Server)>) {
    let mut kept: Vec<Server> = Vec::new();
    let mut again = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for server in servers {
        let index = *seen.entry(identity(&server)).or_insert(kept.len());
        if index == kept.len() {
            kept.push(server);
        } else {
            again.push((index, server));
        }
    }
    (kept, again)
}

/// What makes two definitions the same server: what they run, and as whom.
fn identity(server: &Server) -> String {
    let bearer = server.handling.bearer.as_ref().map(|token| {
        let token = token.exact();
        blake3::hash(token.expose().as_bytes()).to_hex().to_string()
    });
    format!("{} {}", server.fingerprint(), bearer.unwrap_or_default())
}

/// What two definitions of one server say differently about how to treat it.
fn differences(kept: &Server, other: &Server) -> Vec<&'static str> {
    let mut differs = Vec::new();
    let mut compare = |what, same: bool| {
        if !same {
            differs.push(what);
        }
    };
    compare("whether it is enabled", kept.enabled == other.enabled);
    compare(
        "which tools are kept",
        kept.include_tools == other.include_tools && kept.exclude_tools == other.exclude_tools,
    );
    compare("how it is handled", kept.handling == other.handling);
    differs
}

/// Names that are taken, in the form in which they would be mistaken for each other.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
    owners: HashMap<String, Origin>,
}

impl Names {
    /// Claims a name, if it is free.
    fn claim(&mut self, name: &str) -> bool {
        self.taken.insert(folded(name))
    }

    /// Notes the names that a server has already.
    fn hold(&mut self, server: &Server) {
        for name in std::iter::once(&server.name).chain(&server.aliases) {
            if self.claim(name) {
                self.owners.insert(folded(name), server.origin.clone());
            }
        }
    }

    /// Lets a server have its name, or gives it one that says where it comes from.
    fn give(&mut self, server: &mut Server) -> Option<Finding> {
        let wanted = server.name.clone();
        if self.claim(&wanted) {
            self.owners.insert(folded(&wanted), server.origin.clone());
            self.give_aliases(server);
            return None;
        }
        let base = format!("{wanted}-{}", server.origin.kind);
        let mut name = base.clone();
        let mut count = 1;
        while !self.claim(&name) {
            count += 1;
            name = format!("{base}-{count}");
        }
        server.name.clone_from(&name);
        self.give_aliases(server);
        let kept_from = self.owners.get(&folded(&wanted));
        Some(Finding::Conflict {
            kept_from: kept_from.unwrap_or(&server.origin).clone(),
            name: wanted,
            renamed: name,
            renamed_from: server.origin.clone(),
        })
    }

    fn give_aliases(&mut self, server: &mut Server) {
        server
            .aliases
            .retain(|alias| self.taken.insert(folded(alias)));
    }
}

/// Upper and lower case, `_`, `-` and spaces alike: ids are accepted in every spelling.
fn folded(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use proptest::prelude::*;

    use super::*;
    use crate::model::server::{Remote, Stdio, Transport};
    use crate::placeholder::Template;

    fn server(name: &str, command: &str, kind: &str) -> Server {
        let transport = Transport::Stdio(Stdio {
            command: Template::literal(command),
            args: Vec::new(),
            env: IndexMap::new(),
            env_file: None,
            cwd: None,
            inherit_env: false,
        });
        let origin = Origin {
            kind: kind.to_owned(),
            path: format!("{kind}.json").into(),
            line: 3,
        };
        Server::new(name, transport, origin)
    }

    fn shown(merged: &Merged) -> Vec<String> {
        merged
            .servers
            .iter()
            .map(|s| format!("{} {:?}", s.name, s.aliases))
            .collect()
    }

    #[test]
    fn the_same_server_under_two_names_is_one_with_an_alias() {
        let merged = merge([
            server("github", "gh-mcp", "claude-desktop"),
            server("GitHub", "gh-mcp", "zed"),
            server("gh", "gh-mcp", "cursor"),
        ]);
        assert_eq!(shown(&merged), ["github [\"gh\"]"]);
        assert_eq!(merged.servers[0].origin.kind, "claude-desktop");
        assert_eq!(
            merged.findings[1].to_string(),
            "\"gh\" of cursor.json:3 is the same server as \"github\" of claude-desktop.json:3"
        );
    }

    #[test]
    fn different_servers_under_one_name_are_both_kept_and_reported() {
        let merged = merge([
            server("github", "a", "claude-desktop"),
            server("github", "b", "cursor"),
            server("GITHUB", "c", "cursor"),
        ]);
        assert_eq!(
            shown(&merged),
            ["github []", "github-cursor []", "GITHUB-cursor-2 []"]
        );
        assert_eq!(
            merged.findings[0].to_string(),
            "\"github\" of cursor.json:3 is another server than \"github\" of claude-desktop.json:3, so it is called \"github-cursor\""
        );
        assert_eq!(merged.findings.len(), 2);
    }

    #[test]
    fn what_is_put_beside_known_servers_is_what_they_do_not_have_under_free_names() {
        let mut restricted = server("fs-ro", "x", "toolcrib");
        restricted.exclude_tools = vec!["w".to_owned()];
        let known = [server("fs", "x", "toolcrib"), restricted];
        let others = [
            server("files", "x", "cursor"),
            server("b", "y", "cursor"),
            server("FS_RO", "z", "cursor"),
            server("b2", "y", "zed"),
        ];
        let merged = beside(&known, others);
        assert_eq!(shown(&merged), ["b [\"b2\"]", "FS_RO-cursor []"]);
        let found: Vec<String> = merged.findings.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "\"files\" of cursor.json:3 is the same server as \"fs\" of toolcrib.json:3",
                "\"FS_RO\" of cursor.json:3 is another server than \"FS_RO\" of toolcrib.json:3, so it is called \"FS_RO-cursor\"",
                "\"b2\" of zed.json:3 is the same server as \"b\" of cursor.json:3",
            ]
        );
        let mut off = server("fs", "x", "toolcrib");
        off.enabled = false;
        let merged = beside(
            &[off, server("on", "x", "toolcrib")],
            [server("f", "x", "zed")],
        );
        assert!(merged.servers.is_empty());
        assert!(!merged.findings[0].to_string().contains("differ"));
    }

    #[test]
    fn a_name_goes_before_an_alias() {
        let merged = merge([
            server("gh", "a", "claude-desktop"),
            server("github", "a", "cursor"),
            server("github", "b", "zed"),
        ]);
        assert_eq!(shown(&merged), ["gh []", "github []"]);
        assert_eq!(merged.findings.len(), 1);
    }

    #[test]
    fn what_the_second_definition_says_differently_is_reported() {
        let mut second = server("x", "a", "zed");
        second.enabled = false;
        second.exclude_tools = vec!["delete".to_owned()];
        second.handling.call_timeout_ms = Some(1);
        let merged = merge([server("x", "a", "cursor"), second]);
        assert!(merged.servers[0].enabled);
        assert!(merged.findings[0].to_string().ends_with(
            "; they differ in whether it is enabled, which tools are kept, how it is handled, where cursor.json:3 counts"
        ));
    }

    #[test]
    fn two_accounts_at_one_address_are_two_servers() {
        let account = |name: &str, token: &str| {
            let mut server = server(name, "x", "codex");
            server.transport = Transport::Http(Remote {
                url: Template::literal("https://mcp.example/"),
                headers: IndexMap::new(),
            });
            server.handling.bearer = Some(Template::variable(token));
            server
        };
        let merged = merge([account("a", "A"), account("b", "B"), account("c", "A")]);
        assert_eq!(shown(&merged), ["a [\"c\"]", "b []"]);
    }

    #[test]
    fn more_servers_than_a_configuration_may_have_are_left_out_and_counted() {
        let many = (0..limits::SERVERS_MAX + 2)
            .map(|n| server(&format!("s{n}"), &format!("c{n}"), "custom"));
        let merged = merge(many);
        assert_eq!(merged.servers.len(), limits::SERVERS_MAX);
        assert!(
            merged.findings[0]
                .to_string()
                .starts_with("2 servers are left out")
        );
    }

    proptest! {
        #[test]
        fn names_are_unique_and_nothing_is_lost(
            input in prop::collection::vec(("[a-cA-C_]{1,3}", "[a-d]", "[xy]"), 0..12)
        ) {
            let servers: Vec<Server> =
                input.iter().map(|(n, c, k)| server(n, c, k)).collect();
            let merged = merge(servers.clone());
            let mut names: Vec<String> = merged.servers.iter()
                .flat_map(|s| std::iter::once(&s.name).chain(&s.aliases))
                .map(|n| folded(n)).collect();
            let count = names.len();
            names.sort();
            names.dedup();
            prop_assert_eq!(names.len(), count);
            let commands: HashSet<String> = servers.iter().map(Server::fingerprint).collect();
            let kept: HashSet<String> = merged.servers.iter().map(Server::fingerprint).collect();
            prop_assert_eq!(&commands, &kept);
            prop_assert_eq!(merge(merged.servers.clone()).servers, merged.servers);
        }
    }
}
