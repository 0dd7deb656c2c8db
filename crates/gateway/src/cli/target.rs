//! Which of our own files a command writes servers and adapters to. A second file would push the first aside: only one
//! is the configuration.

use std::path::{Path, PathBuf};

use toolcrib_config::export::install::Written;
use toolcrib_config::import::Scope;
use toolcrib_config::load;
use toolcrib_config::places::Places;
use toolcrib_config::trust::{Trust, TrustStore};

use super::Context;
use crate::failure::Failure;
use crate::finding::Finding;
use crate::loader::trust_record;

/// What a new file is called.
const NEW: &str = "toolcrib.yaml";

/// Whose configuration is meant where none is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The one that is in use here, be it a project's or the user's.
    InUse,
    /// The user's, which holds wherever a client starts Toolcrib.
    User,
    /// That of the working directory.
    Project,
}

/// The file that is written to: the one that is named, else the one that is in force, else a new one.
pub(super) fn target(context: &Context, whose: Whose) -> Result<PathBuf, Failure> {
    if let Some(named) = context.explicit_config() {
        return Ok(named);
    }
    let places = Places::of(&context.surroundings);
    let (there, new) = match whose {
        Whose::InUse => (context.loader().config()?.path, places.config.join(NEW)),
        Whose::User => {
            let there = in_force(context, Scope::User, &places)?;
            (there, places.config.join(NEW))
        }
        Whose::Project => {
            let there = in_force(context, Scope::Project, &places)?;
            (there, context.surroundings.cwd.join(NEW))
        }
    };
    Ok(there.unwrap_or(new))
}

fn in_force(context: &Context, scope: Scope, places: &Places) -> Result<Option<PathBuf>, Failure> {
    load::in_force(scope, &context.surroundings, places).map_err(|found| {
        Failure::configuration("the configuration cannot be read; correct it and try again")
            .because(vec![Finding::from(&*found)])
    })
}

/// Changes a file. A project's file that was trusted stays trusted, since it was the user who just changed it.
pub(super) fn keep_trusted(
    context: &Context,
    target: &Path,
    change: impl FnOnce() -> Result<Written, Failure>,
) -> Result<(), Failure> {
    let mut store = TrustStore::open(trust_record(&context.surroundings))?;
    let before = std::fs::read_to_string(target).ok();
    let written = change()?;
    let trusted = match (&written, before) {
        (Written::Created, _) => target.starts_with(&context.surroundings.cwd),
        (_, Some(before)) => store.state(target, &before) == Trust::Trusted,
        _ => false,
    };
    if trusted && let Ok(after) = std::fs::read_to_string(target) {
        store.trust(target, &after);
        store.save()?;
    }
    Ok(())
}

/// The time as it stands in the names of backups.
pub(super) fn backup_time() -> String {
    let now = jiff::Timestamp::now();
    now.strftime("%Y%m%dT%H%M%SZ").to_string()
}
