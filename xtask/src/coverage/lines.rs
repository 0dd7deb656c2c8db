//! Which lines count, and which of them ran, from the lcov text that `llvm-cov export` prints.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::source::Source;

/// The countable lines of a file (or of several) and how often each ran.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tally {
    lines: BTreeMap<usize, u64>,
    covered: usize,
    countable: usize,
}

impl Tally {
    /// Counts one line; the same line again keeps the higher count.
    pub(crate) fn line(&mut self, line: usize, times: u64) {
        let before = self.lines.get(&line).copied();
        let now = before.unwrap_or(0).max(times);
        self.lines.insert(line, now);
        self.countable += usize::from(before.is_none());
        self.covered += usize::from(before.unwrap_or(0) == 0 && now > 0);
    }

    /// Adds another file's figures.
    pub(crate) fn add(&mut self, other: &Self) {
        self.covered += other.covered;
        self.countable += other.countable;
    }

    pub(crate) fn covered(&self) -> usize {
        self.covered
    }

    pub(crate) fn countable(&self) -> usize {
        self.countable
    }
}

/// Reads lcov text into one tally per file of the workspace (path relative to `root`), without lines that exist in tests only.
pub(crate) fn tally(lcov: &str, root: &Path) -> Vec<(String, Tally)> {
    let mut files: BTreeMap<String, Tally> = BTreeMap::new();
    let mut excluded = Excluded::new(root);
    let mut current: Option<(String, Exclusion)> = None;
    for line in lcov.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            current = Path::new(path).strip_prefix(root).ok().map(|inside| {
                let name = inside.to_string_lossy().replace('\\', "/");
                let exclusion = excluded.of(&name);
                (name, exclusion)
            });
        } else if let (Some(data), Some((name, exclusion))) = (line.strip_prefix("DA:"), &current) {
            let mut parts = data.split(',');
            let at = parts.next().and_then(|text| text.parse::<usize>().ok());
            let times = parts.next().and_then(|text| text.parse::<u64>().ok());
            if let (Some(at), Some(times)) = (at, times)
                && !exclusion.contains(at)
            {
                files.entry(name.clone()).or_default().line(at, times);
            }
        }
    }
    files.into_iter().collect()
}

/// The lines that no test ran, one range per line of text, for a person to look through.
pub(crate) fn uncovered(tallies: &[(String, Tally)]) -> String {
    let mut text = String::new();
    for (file, tally) in tallies {
        let missed: Vec<usize> = tally
            .lines
            .iter()
            .filter(|(_, times)| **times == 0)
            .map(|(line, _)| *line)
            .collect();
        let mut rest = missed.as_slice();
        while let Some(first) = rest.first() {
            let run = rest
                .windows(2)
                .take_while(|pair| pair[1] == pair[0] + 1)
                .count();
            let _ = writeln!(text, "{file}:{first}-{}", first + run);
            rest = &rest[run + 1..];
        }
    }
    text
}

/// What of a file is left out.
#[derive(Debug, Clone)]
enum Exclusion {
    All,
    Lines(Vec<std::ops::Range<usize>>),
}

impl Exclusion {
    fn contains(&self, line: usize) -> bool {
        match self {
            Self::All => true,
            Self::Lines(ranges) => ranges.iter().any(|range| range.contains(&line)),
        }
    }
}

/// Finds out what to leave out, reading each source file once.
struct Excluded<'a> {
    root: &'a Path,
    test_files: BTreeSet<PathBuf>,
    scanned: BTreeSet<String>,
}

impl<'a> Excluded<'a> {
    fn new(root: &'a Path) -> Self {
        Self {
            root,
            test_files: BTreeSet::new(),
            scanned: BTreeSet::new(),
        }
    }

    fn of(&mut self, name: &str) -> Exclusion {
        let mut parts = name.split('/');
        let (Some("crates"), Some(of), Some("src")) = (parts.next(), parts.next(), parts.next())
        else {
            return Exclusion::All;
        };
        if self.scanned.insert(of.to_owned()) {
            let src = self.root.join("crates").join(of).join("src");
            for file in crate::source::files_below(&src, ".rs") {
                self.test_files.extend(test_files(&file));
            }
        }
        let path = self.root.join(name);
        if self
            .test_files
            .iter()
            .any(|test| path == *test || path.starts_with(test.with_extension("")))
        {
            return Exclusion::All;
        }
        match std::fs::read_to_string(&path) {
            Ok(text) => Exclusion::Lines(Source::new(&text).test_lines()),
            Err(_) => Exclusion::All,
        }
    }
}

/// The files of modules that `file` declares under `#[cfg(test)]`.
fn test_files(file: &Path) -> Vec<PathBuf> {
    let Ok(text) = std::fs::read_to_string(file) else {
        return Vec::new();
    };
    let stem = file.file_stem().unwrap_or_default();
    let dir = match stem.to_str() {
        Some("lib" | "main" | "mod") => file.with_file_name(""),
        _ => file.with_extension(""),
    };
    Source::new(&text)
        .test_modules()
        .into_iter()
        .map(|name| dir.join(name).with_extension("rs"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let src = dir.path().join("crates/core/src");
        std::fs::create_dir_all(src.join("rules/tests")).unwrap();
        std::fs::create_dir_all(dir.path().join("crates/core/tests")).unwrap();
        std::fs::write(
            src.join("lib.rs"),
            "mod rules;\nfn a() {}\n#[cfg(test)]\nmod tests {\n fn t() {}\n}\n",
        )
        .unwrap();
        std::fs::write(
            src.join("rules.rs"),
            "fn b() {}\n#[cfg(test)]\nmod tests;\n",
        )
        .unwrap();
        std::fs::write(src.join("rules/tests.rs"), "fn t() {}\n").unwrap();
        std::fs::write(src.join("rules/tests/more.rs"), "fn t() {}\n").unwrap();
        std::fs::write(dir.path().join("crates/core/tests/it.rs"), "fn t() {}\n").unwrap();
        dir
    }

    #[test]
    fn tests_and_foreign_files_do_not_count() {
        let dir = tree();
        let root = dir.path().display();
        let mut lcov = String::new();
        for file in [
            "src/lib.rs",
            "src/rules.rs",
            "src/rules/tests.rs",
            "src/rules/tests/more.rs",
            "tests/it.rs",
        ] {
            let _ = write!(
                lcov,
                "SF:{root}/crates/core/{file}\nDA:1,0\nDA:2,7\nDA:5,1\nend_of_record\n"
            );
        }
        lcov.push_str("SF:/elsewhere/lib.rs\nDA:1,1\nend_of_record\n");
        let tallies = tally(&lcov, dir.path());
        let names: Vec<&str> = tallies.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["crates/core/src/lib.rs", "crates/core/src/rules.rs"]
        );
        assert_eq!((tallies[0].1.covered(), tallies[0].1.countable()), (1, 2));
        assert_eq!((tallies[1].1.covered(), tallies[1].1.countable()), (1, 2));
    }

    #[test]
    fn a_line_that_two_programs_hold_counts_once_with_the_higher_count() {
        let mut tally = Tally::default();
        tally.line(3, 0);
        tally.line(3, 4);
        tally.line(3, 0);
        tally.line(4, 0);
        assert_eq!((tally.covered(), tally.countable()), (1, 2));
    }

    #[test]
    fn lines_that_did_not_run_are_listed_as_ranges() {
        let mut tally = Tally::default();
        for (line, times) in [(1, 1), (2, 0), (3, 0), (4, 5), (9, 0)] {
            tally.line(line, times);
        }
        assert_eq!(uncovered(&[("a.rs".into(), tally)]), "a.rs:2-3\na.rs:9-9\n");
    }
}
