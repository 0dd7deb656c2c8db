//! Whether what a row names exists: tests by their function, commands by their first words.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::source::{Source, files_below};
use crate::workspace::{self, CRATES};

use super::Table;

/// The names of test functions, by crate (as it is written in a path: `toolcrib_core`).
#[derive(Debug, Default)]
pub(crate) struct Tests {
    by_crate: BTreeMap<String, BTreeSet<String>>,
}

impl Tests {
    /// Every test function of the workspace.
    pub(crate) fn of_workspace() -> Self {
        let root = workspace::root();
        let mut tests = Self::default();
        for of in CRATES {
            tests.add(
                &of.package.replace('-', "_"),
                &root.join("crates").join(of.dir),
            );
        }
        tests.add("xtask", &root.join("xtask"));
        tests.add("toolcrib_testkit", &root.join("testkit"));
        tests
    }

    fn add(&mut self, name: &str, dir: &Path) {
        let names = self.by_crate.entry(name.to_owned()).or_default();
        for file in files_below(dir, ".rs") {
            if let Ok(text) = std::fs::read_to_string(&file) {
                names.extend(test_functions(&text));
            }
        }
    }

    /// Whether `toolcrib_core::pattern::tests::name` is a test: the crate is ours and has a test of that name.
    pub(crate) fn has(&self, path: &str) -> bool {
        let (Some((of, _)), Some((_, name))) = (path.split_once("::"), path.rsplit_once("::"))
        else {
            return false;
        };
        self.by_crate
            .get(of)
            .is_some_and(|names| names.contains(name))
    }
}

/// What rows name that does not exist.
pub(crate) fn problems(table: &Table, tests: &Tests) -> Vec<String> {
    let mut wrong = Vec::new();
    for row in table.rows() {
        for shown in &row.shown_by {
            if let Some(task) = shown.strip_prefix("cargo xtask ") {
                if !is_task(task) {
                    wrong.push(format!(
                        "{} names the task `{task}`, which does not exist",
                        row.id
                    ));
                }
            } else if shown.contains("::") && !shown.contains(' ') {
                if !tests.has(shown) {
                    wrong.push(format!(
                        "{} names the test `{shown}`, which does not exist",
                        row.id
                    ));
                }
            } else if !shown.starts_with("toolcrib ") && shown != ".ci/run" {
                wrong.push(format!(
                    "{} names `{shown}`, which is no test path and no command",
                    row.id
                ));
            }
        }
    }
    wrong
}

/// Whether there is such a task, and such a bench where it is one.
fn is_task(words: &str) -> bool {
    let mut words = words.split_whitespace();
    let name = words.next().unwrap_or_default();
    let is_there = crate::COMMANDS.iter().any(|command| command.name == name);
    is_there && (name != "bench" || words.next().is_none_or(is_bench))
}

/// Whether there is a bench of this name. They are not in a program without the product's crates.
#[cfg(feature = "product")]
fn is_bench(name: &str) -> bool {
    crate::bench::has(name)
}

#[cfg(not(feature = "product"))]
fn is_bench(_: &str) -> bool {
    true
}

/// The functions under a test attribute, also inside `proptest!`.
fn test_functions(text: &str) -> Vec<String> {
    let code = Source::new(text).code();
    let mut names = Vec::new();
    for (start, _) in code.match_indices("#[") {
        let Some(end) = code[start..].find(']') else {
            continue;
        };
        let attribute = &code[start + 2..start + end];
        let path = attribute.split('(').next().unwrap_or_default().trim();
        if path != "test" && !path.ends_with("::test") && path != "test_case" && path != "rstest" {
            continue;
        }
        let mut words = code[start + end + 1..]
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|word| !word.is_empty());
        if words.by_ref().any(|word| word == "fn") {
            names.extend(words.next().map(str::to_owned));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_functions_are_found_under_every_kind_of_attribute() {
        let text = "
            #[test]\nfn plain() {}
            #[tokio::test(flavor = \"multi_thread\")]\n#[ignore = \"fn no\"]\nasync fn waits() {}
            proptest! {\n #![proptest_config(x())]\n #[test]\n fn holds(a in any::<u8>()) {} }
            // #[test] fn commented() {}
            #[cfg(test)]\nfn helper() {}";
        assert_eq!(test_functions(text), ["plain", "waits", "holds"]);
    }

    #[test]
    fn evidence_that_does_not_exist_is_named() {
        let mut tests = Tests::default();
        tests
            .by_crate
            .insert("toolcrib_core".into(), ["globs".to_owned()].into());
        let table = |shown: &str| {
            let text = format!(
                "[[area]]\nname = \"A\"\nrows = [{{ id = \"R001\", text = \"x\", state = \"done\", shown_by = [{shown:?}] }}]"
            );
            problems(&Table::parse(&text).unwrap(), &tests)
        };
        for good in [
            "toolcrib_core::pattern::tests::globs",
            "cargo xtask eval",
            "cargo xtask bench door",
            "cargo xtask bench peers",
            "toolcrib --version",
            ".ci/run",
        ] {
            assert!(table(good).is_empty(), "{good}");
        }
        for bad in [
            "toolcrib_core::pattern::tests::gone",
            "toolcrib_config::globs",
            "globs",
            "cargo xtask fly",
            "cargo xtask bench fly",
            "a sentence",
        ] {
            assert_eq!(table(bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn the_committed_table_is_whole_and_its_evidence_exists() {
        let table = Table::load().unwrap();
        assert_eq!(table.problems(), Vec::<String>::new());
        assert_eq!(
            problems(&table, &Tests::of_workspace()),
            Vec::<String>::new()
        );
    }
}
