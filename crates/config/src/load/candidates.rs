//! Where configuration files are looked for, in order.

use std::path::{Path, PathBuf};

use crate::file::Shape;
use crate::import::Scope;
use crate::places::Places;
use crate::surroundings::Surroundings;

/// A place where a configuration may stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The file.
    pub path: PathBuf,
    /// Which part of it is ours.
    pub shape: Shape,
    /// Whose it is.
    pub scope: Scope,
}

const OWN_ENDINGS: &[&str] = &["yaml", "yml", "toml", "json", "jsonc"];
const DOCUMENTED_ENDINGS: &[&str] = &["ts", "js", "json", "yaml"];

impl Candidate {
    /// A file that the user named. Files called `anygpt.config.*` hold us in a section.
    pub fn explicit(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let shape = if name.starts_with("anygpt.config.") {
            Shape::Section
        } else {
            Shape::Whole
        };
        Self {
            path: path.to_owned(),
            shape,
            scope: Scope::User,
        }
    }
}

/// All places, in the order in which the first hit wins.
pub fn all(surroundings: &Surroundings, places: &Places) -> Vec<Candidate> {
    use Scope::{Project, User};
    let here = &surroundings.cwd;
    let home = surroundings.home.join(".anygpt");
    let mut all = Vec::new();
    let mut add = |directory: &Path, stem: &str, endings: &[&str], shape, scope| {
        for ending in endings {
            all.push(Candidate {
                path: directory.join(format!("{stem}.{ending}")),
                shape,
                scope,
            });
        }
    };
    add(here, "toolcrib", OWN_ENDINGS, Shape::Whole, Project);
    add(
        &here.join(".toolcrib"),
        "toolcrib",
        OWN_ENDINGS,
        Shape::Whole,
        Project,
    );
    add(&places.config, "toolcrib", OWN_ENDINGS, Shape::Whole, User);
    let discovery = "mcp-discovery.config";
    add(
        &here.join(".anygpt"),
        discovery,
        DOCUMENTED_ENDINGS,
        Shape::Whole,
        Project,
    );
    add(
        here,
        "anygpt.config",
        DOCUMENTED_ENDINGS,
        Shape::Section,
        Project,
    );
    add(&home, discovery, DOCUMENTED_ENDINGS, Shape::Whole, User);
    // In the user's home directory the working directory's files are the user's own.
    if *here == surroundings.home {
        for candidate in &mut all {
            candidate.scope = User;
        }
    }
    all
}
