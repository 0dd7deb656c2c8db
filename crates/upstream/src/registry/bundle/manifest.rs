//! What a bundle says of itself: how its server is run, and what it asks of the user.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::archive::is_inside;
use super::{BundleError, Host};
use crate::registry::input::{Collector, Input, Needed, Part, Text};

/// The beginning of a placeholder for something that the user gives.
const GIVEN: &str = "user_config.";
/// The placeholder for the directory of the bundle.
const DIRECTORY: &str = "${__dirname}";

/// A manifest as it was read.
#[derive(Debug, Deserialize)]
pub struct Manifest {
    server: Server,
    #[serde(default)]
    user_config: HashMap<String, Asked>,
    #[serde(default)]
    compatibility: Compatibility,
}

#[derive(Debug, Deserialize)]
struct Server {
    #[serde(rename = "type")]
    kind: String,
    entry_point: Option<String>,
    mcp_config: Option<Config>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Config {
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, String>>,
    #[serde(default)]
    platform_overrides: BTreeMap<String, Config>,
}

#[derive(Debug, Default, Deserialize)]
struct Compatibility {
    platforms: Option<Vec<String>>,
}

/// Something that a bundle asks of the user.
#[derive(Debug, Deserialize)]
struct Asked {
    title: Option<String>,
    description: Option<String>,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    sensitive: bool,
    #[serde(default)]
    multiple: bool,
    default: Option<Value>,
}

/// How the server of a bundle is run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) command: String,
    pub(super) args: Vec<Text>,
    pub(super) env: Vec<(String, Text)>,
    pub(super) needed: Vec<Needed>,
}

impl Manifest {
    /// Reads a manifest.
    pub fn read(text: &[u8]) -> Result<Self, BundleError> {
        serde_json::from_slice(text).map_err(|error| BundleError::Manifest(error.to_string()))
    }

    /// The files that are programs: they must be executable.
    pub fn programs(&self, host: &Host) -> Vec<String> {
        let command = self.config(host).ok().and_then(|config| config.command);
        let command = command.filter(|command| command.starts_with(DIRECTORY));
        let is_binary = self.server.kind == "binary";
        let entry = self.server.entry_point.clone().filter(|_| is_binary);
        let both = command.into_iter().chain(entry);
        both.map(|name| plain(&name).to_owned()).collect()
    }

    /// How the server is run on a machine.
    pub(super) fn run(
        &self,
        prefix: &str,
        host: &Host,
        holds: &dyn Fn(&str) -> bool,
    ) -> Result<Run, BundleError> {
        self.fits(host)?;
        if let Some(entry) = &self.server.entry_point {
            let name = plain(entry);
            if !is_inside(name) {
                return Err(BundleError::Outside(entry.clone()));
            }
            if !holds(name) {
                return Err(wrong(format!(
                    "it names {name:?}, which is not in the bundle"
                )));
            }
        }
        let config = self.config(host)?;
        let mut filling = Filling {
            asked: &self.user_config,
            host,
            collector: Collector::new(prefix),
        };
        let command = config.command.unwrap_or_default();
        let command = match filling.text(&command, "command")?.0.as_slice() {
            [Part::Literal(command)] if !command.is_empty() => command.clone(),
            _ => return Err(wrong("it has no command that stands by itself".to_owned())),
        };
        let mut args = Vec::new();
        for (index, arg) in config.args.unwrap_or_default().iter().enumerate() {
            args.extend(filling.argument(arg, &format!("argument {}", index + 1))?);
        }
        let mut env = Vec::new();
        for (name, value) in config.env.unwrap_or_default() {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(wrong(format!("{name:?} is no name of a variable")));
            }
            let value = filling.variable(&value, &name)?;
            env.extend(value.map(|value| (name, value)));
        }
        Ok(Run {
            command,
            args,
            env,
            needed: filling.collector.needed,
        })
    }

    fn fits(&self, host: &Host) -> Result<(), BundleError> {
        if !matches!(
            self.server.kind.as_str(),
            "node" | "python" | "uv" | "binary"
        ) {
            let kind = &self.server.kind;
            return Err(wrong(format!("servers of the type {kind:?} are not known")));
        }
        match &self.compatibility.platforms {
            Some(platforms) if !platforms.iter().any(|one| one == host.platform) => {
                Err(BundleError::Platform {
                    platform: host.platform,
                    made_for: platforms.join(" and "),
                })
            }
            _ => Ok(()),
        }
    }

    /// The command for a machine, before anything is filled in.
    fn config(&self, host: &Host) -> Result<Config, BundleError> {
        let Some(mut config) = self.server.mcp_config.clone() else {
            // The manifest may leave it to the host how uv is called.
            return match (&self.server.entry_point, self.server.kind.as_str()) {
                (Some(entry), "uv") => Ok(Config {
                    command: Some("uv".to_owned()),
                    args: Some(vec![
                        "run".to_owned(),
                        "--directory".to_owned(),
                        DIRECTORY.to_owned(),
                        plain(entry).to_owned(),
                    ]),
                    ..Config::default()
                }),
                _ => Err(wrong("it has no server.mcp_config".to_owned())),
            };
        };
        if let Some(special) = config.platform_overrides.remove(host.platform) {
            config.command = special.command.or(config.command);
            config.args = special.args.or(config.args);
            config.env = special.env.or(config.env);
        }
        Ok(config)
    }
}

/// Texts of a manifest while their placeholders are filled in.
struct Filling<'a> {
    asked: &'a HashMap<String, Asked>,
    host: &'a Host,
    collector: Collector<'a>,
}

impl<'a> Filling<'a> {
    /// An argument, which several values may stand for.
    fn argument(&mut self, text: &str, used_for: &str) -> Result<Vec<Text>, BundleError> {
        if let Some((key, asked)) = self.alone(text)?
            && asked.multiple
        {
            let defaults = self.defaults(asked);
            if !defaults.is_empty() {
                return Ok(defaults.into_iter().map(Text::literal).collect());
            }
            if !asked.required {
                self.collect(key, asked, used_for, false);
                return Ok(Vec::new());
            }
        }
        Ok(vec![self.text(text, used_for)?])
    }

    /// The value of a variable; none where the user may leave it out.
    fn variable(&mut self, text: &str, used_for: &str) -> Result<Option<Text>, BundleError> {
        if let Some((key, asked)) = self.alone(text)?
            && !asked.required
            && self.defaults(asked).is_empty()
        {
            self.collect(key, asked, used_for, false);
            return Ok(None);
        }
        self.text(text, used_for).map(Some)
    }

    /// A text in which nothing can be left out: what it holds is required unless it has a default.
    fn text(&mut self, text: &str, used_for: &str) -> Result<Text, BundleError> {
        let outside = text.match_indices(DIRECTORY).any(|(at, _)| {
            let rest = &text[at + DIRECTORY.len()..];
            let rest = rest.replace("${/}", "/").replace("${pathSeparator}", "/");
            rest.split(['/', '\\']).any(|part| part == "..")
        });
        if outside {
            return Err(BundleError::Outside(text.to_owned()));
        }
        let mut parts: Vec<Part> = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            literal.push_str(&rest[..start]);
            rest = &rest[start..];
            let Some(end) = rest.find('}') else { break };
            let name = &rest[2..end];
            if let Some(key) = name.strip_prefix(GIVEN) {
                let asked = self.asked(key)?;
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                parts.extend(self.collect(key, asked, used_for, true).0);
            } else if let Some(place) = self.place(name) {
                literal.push_str(&place);
            } else {
                literal.push_str(&rest[..=end]);
            }
            rest = &rest[end + 1..];
        }
        literal.push_str(rest);
        if !literal.is_empty() || parts.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Text(parts))
    }

    /// What is asked for, where a text is nothing but its placeholder.
    fn alone<'t>(&self, text: &'t str) -> Result<Option<(&'t str, &'a Asked)>, BundleError> {
        let name = text.strip_prefix("${").and_then(|t| t.strip_suffix('}'));
        let key = name.and_then(|name| name.strip_prefix(GIVEN));
        match key.filter(|key| !key.contains('}')) {
            Some(key) => Ok(Some((key, self.asked(key)?))),
            None => Ok(None),
        }
    }

    fn asked(&self, key: &str) -> Result<&'a Asked, BundleError> {
        let undeclared = || {
            wrong(format!(
                "it uses {key:?}, which user_config does not describe"
            ))
        };
        self.asked.get(key).ok_or_else(undeclared)
    }

    /// Notes what is asked for. What cannot be left out is required unless it has a default.
    fn collect(&mut self, key: &str, asked: &Asked, used_for: &str, needed: bool) -> Text {
        let default = self.defaults(asked).into_iter().next();
        let input = Input {
            description: asked.description.clone().or_else(|| asked.title.clone()),
            is_required: needed,
            is_secret: asked.sensitive,
            default,
            ..Input::default()
        };
        self.collector.variable(&input, key, used_for)
    }

    fn defaults(&self, asked: &Asked) -> Vec<String> {
        let values = match &asked.default {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(values)) => values.clone(),
            Some(value) => vec![value.clone()],
        };
        let texts = values.into_iter().map(|value| match value {
            Value::String(text) => self.placed(&text),
            other => other.to_string(),
        });
        texts.filter(|text| !text.is_empty()).collect()
    }

    /// A text with the directories of the machine in it.
    fn placed(&self, text: &str) -> String {
        let names = [
            "__dirname",
            "HOME",
            "DESKTOP",
            "DOCUMENTS",
            "DOWNLOADS",
            "/",
            "pathSeparator",
        ];
        names.iter().fold(text.to_owned(), |text, name| {
            let place = self.place(name).unwrap_or_default();
            text.replace(&format!("${{{name}}}"), &place)
        })
    }

    fn place(&self, name: &str) -> Option<String> {
        let shown = |path: &Path| path.display().to_string();
        let home = &self.host.home;
        Some(match name {
            "__dirname" => shown(&self.host.directory),
            "HOME" => shown(home),
            "DESKTOP" => shown(&home.join("Desktop")),
            "DOCUMENTS" => shown(&home.join("Documents")),
            "DOWNLOADS" => shown(&home.join("Downloads")),
            "/" | "pathSeparator" if self.host.platform == "win32" => "\\".to_owned(),
            "/" | "pathSeparator" => "/".to_owned(),
            _ => return None,
        })
    }
}

/// A name without what only says that it is meant from the bundle.
fn plain(name: &str) -> &str {
    let below = name
        .strip_prefix(DIRECTORY)
        .and_then(|rest| rest.strip_prefix('/'));
    let name = below.unwrap_or(name);
    name.strip_prefix("./").unwrap_or(name)
}

fn wrong(reason: String) -> BundleError {
    BundleError::Manifest(reason)
}
