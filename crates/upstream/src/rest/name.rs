//! Names of tools: kebab-case, legal, unique, and the same whatever the order of the file.

use std::collections::{BTreeMap, HashSet};

use toolcrib_core::limits::ADAPTER_TOOL_NAME_BYTES_MAX;

/// What a name is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The operation id or, for a Postman request, its title.
    pub(super) id: Option<String>,
    /// What tells two operations of one id apart, such as `POST /v1/charges`; and names one
    /// without an id.
    pub(super) place: String,
}

/// The words of an identifier or a path in lower case, joined by `-`.
pub(super) fn kebab(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let characters: Vec<char> = text.chars().collect();
    for (at, c) in characters.iter().enumerate() {
        if !c.is_ascii_alphanumeric() {
            if !out.is_empty() && !out.ends_with('-') && *c != '\'' {
                out.push('-');
            }
            continue;
        }
        let before = at.checked_sub(1).map(|at| characters[at]);
        let after = characters.get(at + 1);
        let begins = c.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || before.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase)
            });
        if begins && !out.ends_with('-') {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    out.truncate(out.trim_end_matches('-').len());
    out
}

/// A short text that stands for a long one.
fn mark(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..8].to_owned()
}

fn fitted(name: String, origin: &Origin) -> String {
    if name.len() <= ADAPTER_TOOL_NAME_BYTES_MAX {
        return name;
    }
    let kept = ADAPTER_TOOL_NAME_BYTES_MAX - 9;
    let full = format!("{:?} {}", origin.id, origin.place);
    format!("{}-{}", name[..kept].trim_end_matches('-'), mark(&full))
}

fn usual(origin: &Origin) -> String {
    let id = origin.id.as_deref().map(kebab).filter(|id| !id.is_empty());
    let name = id.unwrap_or_else(|| kebab(&origin.place));
    let name = if name.is_empty() {
        "root".to_owned()
    } else {
        name
    };
    fitted(name, origin)
}

fn is_legal(name: &str) -> bool {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'/');
    !name.is_empty() && name.len() <= ADAPTER_TOOL_NAME_BYTES_MAX && name.bytes().all(legal)
}

/// A name for each origin, in the order given. Two that would share a name keep their exact ids
/// where these differ; else their places tell them apart.
pub(super) fn names(origins: &[Origin]) -> Vec<String> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, origin) in origins.iter().enumerate() {
        groups.entry(usual(origin)).or_default().push(at);
    }
    let mut names = vec![String::new(); origins.len()];
    let mut taken: HashSet<String> = HashSet::new();
    let mut crowded = Vec::new();
    for (name, members) in groups {
        if let [only] = members[..] {
            taken.insert(name.clone());
            names[only] = name;
        } else {
            crowded.push((name, members));
        }
    }
    for (name, mut members) in crowded {
        let exact = |at: &usize| origins[*at].id.clone().unwrap_or_default();
        let ids: HashSet<String> = members.iter().map(exact).collect();
        let keep_exact =
            ids.len() == members.len() && ids.iter().all(|id| is_legal(id) && !taken.contains(id));
        if keep_exact {
            for at in members {
                let id = exact(&at);
                taken.insert(id.clone());
                names[at] = id;
            }
            continue;
        }
        members.sort_by(|a, b| (&origins[*a].place, exact(a)).cmp(&(&origins[*b].place, exact(b))));
        for at in members {
            let candidate = apart(&name, &origins[at], &taken);
            taken.insert(candidate.clone());
            names[at] = candidate;
        }
    }
    names
}

fn apart(name: &str, origin: &Origin, taken: &HashSet<String>) -> String {
    let place = kebab(&origin.place);
    let by_place = if place == name {
        name.to_owned()
    } else {
        fitted(format!("{name}-{place}"), origin)
    };
    if !taken.contains(&by_place) {
        return by_place;
    }
    let full = format!("{:?} {}", origin.id, origin.place);
    let marked = fitted(format!("{name}-{}", mark(&full)), origin);
    let mut candidate = marked.clone();
    let mut count = 1;
    while taken.contains(&candidate) {
        count += 1;
        candidate = format!("{marked}-{count}");
    }
    candidate
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn origin(id: &str, place: &str) -> Origin {
        Origin {
            id: (!id.is_empty()).then(|| id.to_owned()),
            place: place.to_owned(),
        }
    }

    #[test]
    fn words_become_kebab_case() {
        let table = [
            (
                "GetFinancialConnectionsAccounts",
                "get-financial-connections-accounts",
            ),
            ("transaction_initialize", "transaction-initialize"),
            ("listHTTPServers", "list-http-servers"),
            ("chat.postMessage", "chat-post-message"),
            ("getV1Users", "get-v1-users"),
            ("GET /v1/customers/{id}", "get-v1-customers-id"),
            ("Get a user's list", "get-a-users-list"),
            ("oauth2Token", "oauth2-token"),
            ("__x__", "x"),
            ("日本", ""),
        ];
        for (text, expected) in table {
            assert_eq!(kebab(text), expected, "{text}");
        }
    }

    #[test]
    fn names_are_told_apart() {
        let origins = [
            origin("getUser", "GET /a"),
            origin("get_user", "GET /b"),
            origin("same", "GET /c"),
            origin("same", "POST /c"),
            origin("", "GET /d"),
            origin("日本", "GET /e/{x}"),
            origin("", "GET /e/x"),
            origin(&"long".repeat(60), "GET /f"),
        ];
        let names = names(&origins);
        assert_eq!(
            names[..5],
            ["getUser", "get_user", "same-get-c", "same-post-c", "get-d"]
        );
        assert_eq!(
            names[5..7]
                .iter()
                .filter(|n| n.starts_with("get-e-x"))
                .count(),
            2
        );
        assert!(
            names[7].len() <= ADAPTER_TOOL_NAME_BYTES_MAX,
            "{}",
            names[7]
        );
    }

    proptest! {
        #[test]
        fn names_do_not_depend_on_the_order(
            ids in proptest::collection::vec("[aA_]{0,3}", 1..12),
            shift in 0_usize..12,
        ) {
            let of = |(at, id): (usize, &String)| origin(id, &format!("GET /{}/{{{at}}}", at % 3));
            let origins: Vec<Origin> = ids.iter().enumerate().map(of).collect();
            let plain = names(&origins);
            let mut turned = origins.clone();
            let shift = shift % turned.len();
            turned.rotate_left(shift);
            turned.reverse();
            let other = names(&turned);
            for (origin, name) in origins.iter().zip(&plain) {
                let at = turned.iter().position(|o| o == origin).unwrap();
                prop_assert_eq!(name, &other[at]);
                prop_assert!(is_legal(name));
            }
            let unique: HashSet<&String> = plain.iter().collect();
            prop_assert_eq!(unique.len(), plain.len());
        }
    }
}
