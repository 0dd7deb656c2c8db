//! Labelled sets: tools, and queries with the ids of the tools that are right.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;
use toolcrib_core::search::{Index, ServerTools};
use toolcrib_core::{Tool, ToolId};

use super::md5;

/// A line of `tools.jsonl`.
#[derive(Debug, Deserialize)]
pub(super) struct ToolLine {
    pub(super) id: String,
    #[serde(default)]
    pub(super) server: String,
    #[serde(default)]
    server_id: String,
    #[serde(default)]
    server_description: String,
    #[serde(default)]
    category: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) input_schema: Value,
}

impl ToolLine {
    /// Leaves only what the tool says of itself.
    fn bare(&mut self) {
        BARE.clone_into(&mut self.server);
        self.server_id.clear();
        self.server_description.clear();
        self.category.clear();
    }
}

/// A line of `queries.jsonl`.
#[derive(Debug, Deserialize)]
pub(super) struct QueryLine {
    pub(super) id: String,
    pub(super) query: String,
    #[serde(default)]
    pub(super) gold: Vec<String>,
}

/// A query and what is right for it.
#[derive(Debug)]
pub(super) struct Labelled {
    pub(super) text: String,
    /// Ids of the tools that are right; none when the wish fits no tool.
    pub(super) gold: HashSet<ToolId>,
    pub(super) dev: bool,
}

/// A labelled set with its index.
pub(super) struct Set {
    pub(super) name: String,
    pub(super) index: Arc<Index>,
    pub(super) tools: Arc<Tools>,
    pub(super) queries: Vec<Labelled>,
    /// The terms of use keep it out of everything that is trained.
    pub(super) measure_only: bool,
    /// Written by the project itself, and left out of the means over public sets.
    pub(super) own: bool,
}

/// The tools of a set by their ids.
pub(super) type Tools = HashMap<ToolId, Arc<Tool>>;

/// Sets whose terms of use, or whose purpose, keep them out of training.
pub(crate) const MEASURE_ONLY: [&str; 6] = [
    "toollens",
    "train-toollens",
    "graph-toucan",
    "mcptoolbenchpp",
    "mcpflow-toucan",
    "mcp-selection-v4",
];

/// How sets are read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    /// Also the queries that `baseline-queries.json` leaves out.
    pub(super) every_query: bool,
    /// Of the tools only what each says of itself, name, description and schema, all of them in one server: what other
    /// programs are given.
    pub(super) bare: bool,
}

/// The one server of tools that are read bare.
const BARE: &str = "tools";

impl Set {
    /// Every set under `folder`, or the set that `folder` is. Where the folder has a
    /// `baseline-queries.json`, only the queries listed there count unless `every_query`.
    pub(super) fn load_all(folder: &Path, reading: Reading) -> Result<Vec<Self>> {
        let chosen: Option<BTreeMap<String, HashSet<String>>> =
            match fs::read(folder.join("baseline-queries.json")) {
                Ok(bytes) if !reading.every_query => Some(serde_json::from_slice(&bytes)?),
                _ => None,
            };
        if folder.join("queries.jsonl").is_file() {
            return Ok(vec![Self::load(folder, folder, None, reading)?]);
        }
        let mut names: Vec<_> = fs::read_dir(folder)?
            .filter_map(Result::ok)
            .map(|e| e.path())
            .collect();
        names.sort();
        let mut sets = Vec::new();
        for path in names.iter().filter(|p| p.join("queries.jsonl").is_file()) {
            let name = name_of(path);
            let only = match &chosen {
                Some(chosen) => match chosen.get(&name) {
                    Some(ids) => Some(ids),
                    None => continue,
                },
                None => None,
            };
            if !path.join("tools.jsonl").is_file() && name != "mcpflow-toucan" {
                continue;
            }
            sets.push(Self::load(path, folder, only, reading)?);
        }
        Ok(sets)
    }

    /// The project's own queries, `*.jsonl` under `folder`, over the real servers of `catalog`; golds
    /// are written `server:tool`.
    pub(super) fn load_own(folder: &Path, catalog: &Path) -> Result<Vec<Self>> {
        let Ok(files) = fs::read_dir(folder) else {
            return Ok(Vec::new());
        };
        let mut files: Vec<_> = files.filter_map(Result::ok).map(|e| e.path()).collect();
        files.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
        files.sort();
        if files.is_empty() || !catalog.is_dir() {
            return Ok(Vec::new());
        }
        let (index, tools) = read_servers(catalog)?;
        let (index, tools) = (Arc::new(index), Arc::new(tools));
        let known: HashSet<&ToolId> = index.ids().collect();
        let mut sets = Vec::new();
        for path in files {
            let mut queries = Vec::new();
            for line in read_lines::<QueryLine>(&path)? {
                let gold: HashSet<ToolId> = line
                    .gold
                    .iter()
                    .filter_map(|id| ToolId::parse(id))
                    .collect();
                if let Some(unknown) = gold.iter().find(|id| !known.contains(id)) {
                    bail!("query {} names {unknown}, which no server has", line.id);
                }
                queries.push(Labelled {
                    dev: md5::is_even(&line.id),
                    gold,
                    text: line.query,
                });
            }
            let stem = path.file_stem().unwrap_or_default();
            sets.push(Self {
                name: format!("own-{}", stem.to_string_lossy()),
                index: Arc::clone(&index),
                tools: Arc::clone(&tools),
                queries,
                measure_only: false,
                own: true,
            });
        }
        Ok(sets)
    }

    fn load(
        path: &Path,
        root: &Path,
        only: Option<&HashSet<String>>,
        reading: Reading,
    ) -> Result<Self> {
        let name = name_of(path);
        let tools = if name == "mcpflow-toucan" {
            root.join("corpus-toucan/tools.jsonl")
        } else {
            path.join("tools.jsonl")
        };
        let (index, tools, ids) = read_tools(&tools, reading)?;
        let mut queries = Vec::new();
        for line in read_lines::<QueryLine>(&path.join("queries.jsonl"))? {
            if only.is_some_and(|only| !only.contains(&line.id)) {
                continue;
            }
            queries.push(Labelled {
                dev: md5::is_even(&line.id),
                gold: line
                    .gold
                    .iter()
                    .filter_map(|id| ids.get(id).cloned())
                    .collect(),
                text: line.query,
            });
        }
        Ok(Self {
            measure_only: MEASURE_ONLY.contains(&name.as_str()),
            name,
            index: Arc::new(index),
            tools: Arc::new(tools),
            queries,
            own: false,
        })
    }
}

pub(super) fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

pub(super) fn read_lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            serde_json::from_str(line)
                .with_context(|| format!("{} has a line that does not parse", path.display()))
        })
        .collect()
}

/// An index of the tools, the tools, and the ids they got. Tools of one server that share a name are told
/// apart by an invisible mark, which no word holds.
fn read_tools(path: &Path, reading: Reading) -> Result<(Index, Tools, HashMap<String, ToolId>)> {
    let mut ids = HashMap::new();
    let mut servers: BTreeMap<String, (String, String, Vec<Arc<Tool>>)> = BTreeMap::new();
    let mut taken: HashMap<(String, String), usize> = HashMap::new();
    for mut line in read_lines::<ToolLine>(path)? {
        if reading.bare {
            line.bare();
        }
        let server = if line.server_id.is_empty() {
            line.server.clone()
        } else {
            line.server_id.clone()
        };
        let count = taken
            .entry((server.clone(), line.name.clone()))
            .or_default();
        let name = format!("{}{}", line.name, "\u{2060}".repeat(*count));
        *count += 1;
        let id = ToolId::new(server.as_str(), name);
        let mut tool = Tool::new(
            id.clone(),
            line.description.unwrap_or_default(),
            line.input_schema,
        );
        if !line.category.is_empty() {
            tool.categories.push(line.category);
        }
        ids.insert(line.id, id);
        let entry = servers.entry(server).or_insert_with(|| {
            (
                line.server.clone(),
                line.server_description.clone(),
                Vec::new(),
            )
        });
        entry.2.push(Arc::new(tool));
    }
    let aliases: Vec<[String; 1]> = servers
        .values()
        .map(|(title, _, _)| [title.clone()])
        .collect();
    let index = Index::build(servers.iter().zip(&aliases).map(
        |((name, (title, about, tools)), alias)| ServerTools {
            name,
            aliases: if title == name { &[] } else { alias },
            about,
            tools,
        },
    ));
    let tools = by_id(servers.into_values().flat_map(|(_, _, tools)| tools));
    Ok((index, tools, ids))
}

fn by_id(tools: impl Iterator<Item = Arc<Tool>>) -> Tools {
    tools.map(|tool| (tool.id.clone(), tool)).collect()
}

/// An index of the tool lists of real servers, one JSON file each, and the tools.
fn read_servers(folder: &Path) -> Result<(Index, Tools)> {
    let mut files: Vec<_> = fs::read_dir(folder)?
        .filter_map(Result::ok)
        .map(|e| e.path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "json"));
    files.sort();
    let mut servers = Vec::new();
    for path in files {
        let value: Value = serde_json::from_slice(&fs::read(&path)?)?;
        let name = value["server"].as_str().unwrap_or_default().to_owned();
        let about = value["instructions"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let read = |tool: &Value| {
            let id = ToolId::new(name.as_str(), tool["name"].as_str().unwrap_or_default());
            let text = tool["description"].as_str().unwrap_or_default();
            let mut made = Tool::new(id, text, tool["inputSchema"].clone());
            made.title = tool["title"].as_str().map(str::to_owned);
            Arc::new(made)
        };
        let tools: Vec<Arc<Tool>> = value["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .map(read)
            .collect();
        servers.push((name, about, tools));
    }
    let index = Index::build(servers.iter().map(|(name, about, tools)| ServerTools {
        name,
        aliases: &[],
        about,
        tools,
    }));
    let tools = by_id(servers.into_iter().flat_map(|(_, _, tools)| tools));
    Ok((index, tools))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_are_read_bare_say_nothing_of_their_servers() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("tools.jsonl");
        let lines = [
            r#"{"id":"a","server":"Kitchen","server_description":"Recipes","category":"Food","name":"find","description":"Finds one."}"#,
            r#"{"id":"b","server":"Garage","server_id":"g","name":"find","description":"Finds a car."}"#,
        ];
        fs::write(&path, lines.join("\n")).unwrap();
        let (_, tools, ids) = read_tools(&path, Reading::default()).unwrap();
        assert_eq!(ids["a"].server(), "Kitchen");
        assert_eq!(tools[&ids["a"]].categories, ["Food"]);
        let bare = Reading {
            bare: true,
            ..Reading::default()
        };
        let (index, tools, ids) = read_tools(&path, bare).unwrap();
        assert_eq!(index.len(), 2, "names that two servers have stay apart");
        for id in ids.values() {
            assert_eq!(id.server(), BARE);
            assert!(tools[id].categories.is_empty());
        }
    }
}
