//! What an API description asks of a caller's token: `tasks:write`, `repo:delete`, `admin`.
//!
//! Scopes are coarser than operations: many a read asks for a scope that also writes. Therefore
//! only what they allow counts, not what to, and it raises a risk or confirms it: a scope that reads
//! makes no write a read, and one that writes makes nothing a write that plainly reads.

use super::name;
use super::table::{Class, Grade, Verb};

/// What a scope allows. The order is the order of harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Allowance {
    /// Looking.
    Read,
    /// Changing.
    Write,
    /// What only administrators may do.
    Administer,
    /// Deleting or ending.
    Delete,
}

/// The least that a token must allow, and the scope that says so: all scopes of a way to
/// authenticate are needed, any of the ways will do. Ways without scopes say nothing; a way whose
/// scopes are not understood may allow little.
pub(super) fn read(ways: &[Vec<String>]) -> Option<(Allowance, &str)> {
    let scoped = ways.iter().filter(|scopes| !scopes.is_empty());
    let needed: Option<Vec<_>> = scoped.map(|scopes| most(scopes)).collect();
    needed?.into_iter().min_by_key(|(allowance, _)| *allowance)
}

fn most(scopes: &[String]) -> Option<(Allowance, &str)> {
    let known = scopes
        .iter()
        .filter_map(|scope| Some((allowance(scope)?, scope.as_str())));
    known.max_by_key(|(allowance, _)| *allowance)
}

/// Reads one scope: its verb stands last (`tasks:write`), first (`read:users`) or between
/// (`user-read-email`).
fn allowance(scope: &str) -> Option<Allowance> {
    let own = scope.rsplit('/').next().unwrap_or(scope);
    let words = name::words(own);
    let (last, rest) = words.split_last()?;
    let verb = std::iter::once(last).chain(rest).find_map(|word| {
        let verb = Verb::find(word)?;
        (verb.grade == Grade::Plain || verb.class == Class::Read).then_some(verb.class)
    });
    let administers = words.iter().any(|word| word == "admin");
    match verb {
        Some(Class::Read | Class::Probe) => Some(Allowance::Read),
        Some(Class::Destroy) => Some(Allowance::Delete),
        Some(Class::Write | Class::Act) | None if administers => Some(Allowance::Administer),
        Some(Class::Write | Class::Act) => Some(Allowance::Write),
        None if last == "readonly" => Some(Allowance::Read),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_of_a_scope_is_found_wherever_it_stands() {
        let table = [
            ("tasks:write", Some(Allowance::Write)),
            ("read:users", Some(Allowance::Read)),
            ("user-read-email", Some(Allowance::Read)),
            ("user-follow-read", Some(Allowance::Read)),
            ("user-follow-modify", Some(Allowance::Write)),
            ("account:read_only", Some(Allowance::Read)),
            ("account:read_write", Some(Allowance::Write)),
            ("chat:write:bot", Some(Allowance::Write)),
            ("collections.view", Some(Allowance::Read)),
            ("repo:delete", Some(Allowance::Delete)),
            ("delete_repo", Some(Allowance::Delete)),
            ("admin", Some(Allowance::Administer)),
            ("admin:org", Some(Allowance::Administer)),
            ("admin.teams:write", Some(Allowance::Administer)),
            ("admin.teams:read", Some(Allowance::Read)),
            (
                "https://delete.example/auth/drive.readonly",
                Some(Allowance::Read),
            ),
            (
                "https://mail.example/auth/gmail.send",
                Some(Allowance::Write),
            ),
            ("repo", None),
            ("none", None),
            ("refund", None),
            ("", None),
        ];
        for (scope, expected) in table {
            assert_eq!(allowance(scope), expected, "{scope}");
        }
    }

    #[test]
    fn all_scopes_of_a_way_are_needed_and_any_way_will_do() {
        let check = |ways: &[&[&str]], expected: Option<(Allowance, &str)>| {
            let ways: Vec<Vec<String>> = ways
                .iter()
                .map(|scopes| scopes.iter().map(|s| (*s).to_owned()).collect())
                .collect();
            assert_eq!(read(&ways), expected, "{ways:?}");
        };
        check(&[], None);
        check(&[&[]], None);
        check(
            &[&["a:read", "a:delete"]],
            Some((Allowance::Delete, "a:delete")),
        );
        check(
            &[&["a:delete"], &["a:write"]],
            Some((Allowance::Write, "a:write")),
        );
        check(&[&[], &["a:delete"]], Some((Allowance::Delete, "a:delete")));
        check(&[&["repo"], &["a:delete"]], None);
    }
}
