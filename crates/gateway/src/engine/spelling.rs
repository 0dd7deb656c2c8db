//! The spellings by which a server or tool is found: its own, snake, kebab and lower case.
//!
//! A name as it stands always wins. Where two names share a spelling, that spelling names neither.
//! Only ASCII letters change case, so that no look-alike of another alphabet finds anything.

use std::collections::HashMap;

/// A name in kebab case: words apart by `-`, ASCII letters in lower case.
pub fn kebab(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let chars: Vec<char> = name.chars().collect();
    for (at, c) in chars.iter().copied().enumerate() {
        if matches!(c, '_' | '.' | '-' | ' ') {
            if !out.is_empty() && !out.ends_with('-') {
                out.push('-');
            }
            continue;
        }
        let before = at.checked_sub(1).and_then(|before| chars.get(before));
        let after_lower = before.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let ends_capitals = before.is_some_and(char::is_ascii_uppercase)
            && chars.get(at + 1).is_some_and(char::is_ascii_lowercase);
        if c.is_ascii_uppercase() && (after_lower || ends_capitals) && !out.ends_with('-') {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    if out.ends_with('-') {
        out.pop();
    }
    out
}

/// Names by their spellings.
#[derive(Clone, Debug, Default)]
pub struct Spellings {
    exact: HashMap<String, usize>,
    /// `None` where several names share the spelling.
    loose: HashMap<String, Option<usize>>,
}

impl Spellings {
    /// Adds a name for the place `at`. The first of equal names stays.
    pub fn add(&mut self, name: &str, at: usize) {
        self.exact.entry(name.to_owned()).or_insert(at);
        let (lower, kebab) = (name.to_ascii_lowercase(), kebab(name));
        let same = lower == kebab;
        for spelling in [Some(kebab), (!same).then_some(lower)]
            .into_iter()
            .flatten()
        {
            self.loose
                .entry(spelling)
                .and_modify(|known| {
                    if *known != Some(at) {
                        *known = None;
                    }
                })
                .or_insert(Some(at));
        }
    }

    /// The place that a spelling names.
    pub fn find(&self, spelling: &str) -> Option<usize> {
        let loose = |key: &str| self.loose.get(key).copied().flatten();
        self.exact
            .get(spelling)
            .copied()
            .or_else(|| loose(&spelling.to_ascii_lowercase()))
            .or_else(|| loose(&kebab(spelling)))
    }

    /// The one place whose kebab spelling begins with the words of `prefix`, as `flutterwave` does
    /// for `flutterwave-v3`.
    pub fn find_by_prefix(&self, prefix: &str) -> Option<usize> {
        let start = format!("{}-", kebab(prefix));
        if start.len() < 2 {
            return None;
        }
        let mut found = None;
        for (spelling, at) in &self.loose {
            if spelling.starts_with(&start) {
                match (found, at) {
                    (None, Some(at)) => found = Some(*at),
                    (Some(other), Some(at)) if other == *at => {}
                    _ => return None,
                }
            }
        }
        found
    }

    /// The kebab spelling of a name, unless another name shares it: then the name itself.
    pub fn canonical(&self, name: &str) -> String {
        let kebab = kebab(name);
        let own = self.exact.get(name).copied();
        let shared = self.loose.get(&kebab).copied().flatten() != own;
        let taken = self.exact.get(&kebab).is_some_and(|at| Some(*at) != own);
        if shared || taken {
            name.to_owned()
        } else {
            kebab
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spellings(names: &[&str]) -> Spellings {
        let mut spellings = Spellings::default();
        for (at, name) in names.iter().enumerate() {
            spellings.add(name, at);
        }
        spellings
    }

    #[test]
    fn names_become_kebab_case() {
        for (name, expected) in [
            ("createIssue", "create-issue"),
            ("create_issue", "create-issue"),
            ("Create Issue", "create-issue"),
            ("getHTTPResponse", "get-http-response"),
            ("list-v2Items", "list-v2-items"),
            ("issues.list", "issues-list"),
            ("__x__", "x"),
            ("repos/get", "repos/get"),
        ] {
            assert_eq!(kebab(name), expected, "{name}");
            assert_eq!(kebab(&kebab(name)), kebab(name), "{name}");
        }
    }

    #[test]
    fn every_spelling_of_a_name_finds_it() {
        let spellings = spellings(&["createIssue", "list_repos"]);
        for spelling in [
            "createIssue",
            "create_issue",
            "create-issue",
            "createissue",
            "CREATE_ISSUE",
        ] {
            assert_eq!(spellings.find(spelling), Some(0), "{spelling}");
        }
        assert_eq!(spellings.find("list-repos"), Some(1));
        for other in ["create", "issue_create", "creat\u{435}_issue", ""] {
            assert_eq!(spellings.find(other), None, "{other}");
        }
        assert_eq!(spellings.canonical("createIssue"), "create-issue");
    }

    #[test]
    fn a_spelling_that_two_names_share_names_neither() {
        let spellings = spellings(&["get_user", "getUser", "other"]);
        assert_eq!(spellings.find("get_user"), Some(0));
        assert_eq!(spellings.find("getUser"), Some(1));
        assert_eq!(spellings.find("get-user"), None);
        assert_eq!(spellings.canonical("get_user"), "get_user");
        assert_eq!(spellings.canonical("getUser"), "getUser");
        assert_eq!(spellings.canonical("other"), "other");
    }

    #[test]
    fn a_prefix_finds_what_it_alone_begins() {
        let one = spellings(&["flutterwave-v3", "stripe"]);
        assert_eq!(one.find_by_prefix("flutterwave"), Some(0));
        assert_eq!(one.find_by_prefix("Flutterwave"), Some(0));
        assert_eq!(one.find_by_prefix("flutter"), None);
        assert_eq!(one.find_by_prefix(""), None);
        let two = spellings(&["flutterwave-v3", "flutterwave_v2"]);
        assert_eq!(two.find_by_prefix("flutterwave"), None);
    }
}
