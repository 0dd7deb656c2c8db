//! Names of functions, shortened to patterns that hold for other compilers and a changed source as well.
//!
//! The name of a function ends with a hash of the crates it was compiled with, so that a pattern stands for it. Where
//! nearly everything of a module ran, one pattern stands for the module.

use std::collections::{BTreeMap, HashSet};

/// How many bytes of functions that did not run are worth a name less in the list.
const BYTES_PER_NAME: u64 = 2_000;
/// Parts of a name that a pattern has at least: the mark of its language and the crate.
const PARTS_MIN: usize = 2;
/// Digits of the hash at the end of a name.
const HASH_DIGITS: usize = 16;

/// Patterns for the linker.
pub(super) struct List {
    pub(super) names: Vec<String>,
    /// Bytes of what ran.
    pub(super) ran_bytes: u64,
    /// Bytes of all functions that the patterns take.
    pub(super) together_bytes: u64,
}

/// Patterns for the functions that ran, out of all that there are with their bytes.
pub(super) fn list(symbols: &BTreeMap<String, u64>, ran: &HashSet<String>) -> List {
    let mut root = Node::default();
    for (name, bytes) in symbols {
        root.put(&parts(name), *bytes, ran.contains(name));
    }
    let mut list = List {
        names: Vec::new(),
        ran_bytes: 0,
        together_bytes: 0,
    };
    for pattern in root.patterns(&mut String::new(), 0) {
        list.ran_bytes += pattern.ran;
        list.together_bytes += pattern.ran + pattern.other;
        list.names.push(pattern.text);
    }
    list.names.sort();
    list
}

/// Whether a pattern holds nothing that means something else to the linker.
#[cfg(test)]
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_$.*".contains(c);
    !name.is_empty() && name.chars().all(plain)
}

/// Functions whose names begin alike, in bytes.
#[derive(Default)]
struct Node {
    ran: u64,
    other: u64,
    below: BTreeMap<String, Node>,
}

struct Pattern {
    text: String,
    ran: u64,
    other: u64,
}

impl Node {
    fn put(&mut self, parts: &[String], bytes: u64, ran: bool) {
        if ran {
            self.ran += bytes;
        } else {
            self.other += bytes;
        }
        if let Some((first, rest)) = parts.split_first() {
            let below = self.below.entry(first.clone()).or_default();
            below.put(rest, bytes, ran);
        }
    }

    /// The patterns below, or one for all of them where that is worth what it takes in addition.
    fn patterns(&self, begins: &mut String, depth: usize) -> Vec<Pattern> {
        if self.ran == 0 {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (part, node) in &self.below {
            let length = begins.len();
            begins.push_str(part);
            found.extend(node.patterns(begins, depth + 1));
            begins.truncate(length);
        }
        let taken: u64 = found.iter().map(|pattern| pattern.other).sum();
        let saved = found.len().saturating_sub(1) as u64;
        let whole = depth >= PARTS_MIN && saved > 0 && self.other - taken <= BYTES_PER_NAME * saved;
        if found.is_empty() || whole {
            return vec![Pattern {
                text: format!("{begins}*"),
                ran: self.ran,
                other: self.other,
            }];
        }
        found
    }
}

/// A name in its parts, without the hash.
fn parts(name: &str) -> Vec<String> {
    if let Some(path) = name.strip_prefix("_ZN") {
        let mut parts = vec!["_ZN".to_owned()];
        parts.extend(lengthened(path));
        return parts;
    }
    if let Some(path) = name.strip_prefix("_R") {
        return vec!["_R".to_owned(), without_crates(path)];
    }
    // What the compiler of C adds for a copy of its own.
    vec![name.split('.').next().unwrap_or(name).to_owned()]
}

/// The parts of a path, each with its length before it; for the hash at the end stands how it begins.
fn lengthened(path: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = path;
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length = rest[..digits].parse::<usize>().unwrap_or_default();
        let Some((part, after)) = rest
            .split_at_checked(digits + length)
            .filter(|_| length > 0)
        else {
            return parts;
        };
        if length == HASH_DIGITS + 1 && part[digits..].starts_with('h') && after.starts_with('E') {
            parts.push(part[..=digits].to_owned());
            return parts;
        }
        parts.push(part.to_owned());
        rest = after;
    }
}

/// A path in which the hash of each crate is left open.
fn without_crates(path: &str) -> String {
    let mut out = String::new();
    let mut rest = path;
    while let Some(at) = rest.find("Cs") {
        let (before, after) = rest.split_at(at + 2);
        out.push_str(before);
        let hash = after
            .find('_')
            .filter(|end| after[..*end].bytes().all(|b| b.is_ascii_alphanumeric()));
        match hash {
            Some(end) => {
                out.push('*');
                rest = &after[end..];
            }
            None => rest = after,
        }
    }
    out.push_str(rest);
    // A copy for one unit of code generation.
    out.split('.').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_into_their_parts() {
        let check = |name: &str, expect: &[&str]| assert_eq!(parts(name), expect, "{name}");
        check(
            "_ZN3foo3bar17h0123456789abcdefE",
            &["_ZN", "3foo", "3bar", "17h"],
        );
        check(
            "_ZN3foo28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE.llvm.12",
            &["_ZN", "3foo", "28_$u7b$$u7b$closure$u7d$$u7d$", "17h"],
        );
        check(
            "_RNvMNtCsgEmfK2I1SDS_4core3foo.llvm.7",
            &["_R", "NvMNtCs*_4core3foo"],
        );
        check("sqlite3_step", &["sqlite3_step"]);
        check("sqlite3BtreeNext.constprop.0", &["sqlite3BtreeNext"]);
    }

    fn listed(functions: &[(&str, u64, bool)]) -> List {
        let symbols = functions
            .iter()
            .map(|(name, bytes, _)| ((*name).to_owned(), *bytes));
        let ran = functions.iter().filter(|(_, _, ran)| *ran);
        let ran = ran.map(|(name, ..)| (*name).to_owned()).collect();
        list(&symbols.collect(), &ran)
    }

    #[test]
    fn a_module_of_which_nearly_all_ran_is_one_pattern() {
        let list = listed(&[
            ("_ZN3foo3bar1a17h0123456789abcdefE", 100, true),
            ("_ZN3foo3bar1b17h0123456789abcdefE", 100, true),
            ("_ZN3foo3bar1c17h0123456789abcdefE", 50, false),
            ("_ZN3foo4cold1c17h0123456789abcdefE", 50_000, false),
            ("main", 10, true),
        ]);
        assert_eq!(list.names, ["_ZN3foo3bar*", "main*"]);
        assert_eq!((list.ran_bytes, list.together_bytes), (210, 260));
    }

    #[test]
    fn what_did_not_run_and_is_large_keeps_its_module_apart() {
        let list = listed(&[
            ("_ZN3foo3bar1a17h0123456789abcdefE", 100, true),
            ("_ZN3foo3bar17h0123456789abcdefE", 100, true),
            ("_ZN3foo3bar1c17h0123456789abcdefE", 50_000, false),
        ]);
        assert_eq!(list.names, ["_ZN3foo3bar17h*", "_ZN3foo3bar1a17h*"]);
        assert_eq!(list.ran_bytes, list.together_bytes);
        assert!(list.names.iter().all(|name| is_plain(name)));
    }
}
