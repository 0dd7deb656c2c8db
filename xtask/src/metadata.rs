//! The packages of the workspace and of what it depends on, as `cargo metadata` gives them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::process;

/// The dependency graph.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
    resolve: Resolve,
}

/// One package.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency as a manifest declares it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) req: String,
    pub(crate) path: Option<String>,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the border test tells kinds apart")
    )]
    pub(crate) kind: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the border test tells kinds apart")
    )]
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the border test tells kinds apart")
)]
struct EdgeKind {
    kind: Option<String>,
}

#[cfg(test)]
impl Edge {
    /// Whether the dependency ends up in the program, rather than in its tests or its build.
    fn is_linked(&self) -> bool {
        self.dep_kinds.iter().any(|kind| kind.kind.is_none())
    }
}

impl Metadata {
    /// The graph as it is built for one target.
    pub(crate) fn for_target(target: &str) -> Result<Self> {
        let mut metadata = Self::read(&["--filter-platform", target])?;
        let built = built_for(target)?;
        let own = |id: &String| metadata.workspace_members.contains(id);
        metadata
            .packages
            .retain(|p| own(&p.id) || built.contains(&format!("{} v{}", p.name, p.version)));
        Ok(metadata)
    }

    /// The graph over all targets.
    #[cfg(test)]
    pub(crate) fn for_all_targets() -> Result<Self> {
        Self::read(&[])
    }

    fn read(arguments: &[&str]) -> Result<Self> {
        let mut command = process::cargo();
        command
            .args([
                "metadata",
                "--format-version=1",
                "--locked",
                "--all-features",
            ])
            .args(arguments);
        serde_json::from_str(&process::output(&mut command)?)
            .context("`cargo metadata` printed something unexpected")
    }

    /// The packages of this workspace.
    pub(crate) fn own(&self) -> Vec<&Package> {
        self.packages
            .iter()
            .filter(|package| self.workspace_members.contains(&package.id))
            .collect()
    }

    /// The packages that are built, directly or not, for the workspace's own; without the workspace's own.
    pub(crate) fn foreign(&self) -> Vec<&Package> {
        let reached = self.reach(
            self.workspace_members.iter().map(String::as_str).collect(),
            |_| true,
        );
        let own = |id: &String| self.workspace_members.contains(id);
        self.packages
            .iter()
            .filter(|package| reached.contains(package.id.as_str()) && !own(&package.id))
            .collect()
    }

    /// The names of all packages that are linked into `package`, directly or not.
    #[cfg(test)]
    pub(crate) fn linked_into(&self, package: &Package) -> BTreeSet<&str> {
        let reached = self.reach(vec![&package.id], Edge::is_linked);
        let others = self.packages.iter().filter(|other| other.id != package.id);
        others
            .filter(|other| reached.contains(other.id.as_str()))
            .map(|other| other.name.as_str())
            .collect()
    }

    fn reach<'a>(&'a self, mut open: Vec<&'a str>, follow: fn(&Edge) -> bool) -> BTreeSet<&'a str> {
        let edges: BTreeMap<&str, &Node> = self
            .resolve
            .nodes
            .iter()
            .map(|node| (node.id.as_str(), node))
            .collect();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                let next = edges.get(id).into_iter().flat_map(|node| &node.deps);
                open.extend(
                    next.filter(|edge| follow(edge))
                        .map(|edge| edge.pkg.as_str()),
                );
            }
        }
        seen
    }
}

/// What is really built for a target, as `name vVERSION`. `cargo metadata` also lists dependencies
/// whose feature is named only weakly (`ring?/std`) and that are never built.
fn built_for(target: &str) -> Result<BTreeSet<String>> {
    let mut command = process::cargo();
    command.args(["tree", "--locked", "--workspace", "--all-features"]);
    command.args(["--target", target, "--prefix", "none", "--format", "{p}"]);
    let lines = process::output(&mut command)?;
    let name_and_version = |line: &str| -> Option<String> {
        let mut words = line.split(' ');
        Some(format!("{} {}", words.next()?, words.next()?))
    };
    Ok(lines.lines().filter_map(name_and_version).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graph_has_our_dependencies_and_not_ourselves() {
        let metadata = Metadata::for_target("x86_64-unknown-linux-gnu").unwrap();
        let names: Vec<&str> = metadata
            .foreign()
            .iter()
            .map(|package| package.name.as_str())
            .collect();
        assert!(names.contains(&"serde_json"));
        assert!(!names.contains(&"xtask") && !names.contains(&"toolcrib-core"));
        assert!(
            !names.contains(&"windows-sys"),
            "a Windows crate is in the graph of Linux"
        );
    }

    #[test]
    fn what_only_tests_need_is_not_linked() {
        let metadata = Metadata::for_target("x86_64-unknown-linux-gnu").unwrap();
        let own = metadata.own();
        let core = own
            .iter()
            .find(|package| package.name == "toolcrib-core")
            .unwrap();
        let linked = metadata.linked_into(core);
        assert!(linked.contains("serde_json"));
        assert!(!linked.contains("proptest") && !linked.contains("toolcrib-core"));
    }
}
