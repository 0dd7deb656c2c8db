//! Where Toolcrib runs, as a value: operating system, directories and environment.
//!
//! Everything that looks for files takes one of these instead of asking the process, so that a test
//! can play any operating system on any other.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The operating systems whose conventions are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Os {
    /// Linux and the other free Unixes.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Os {
    /// The one this program was built for.
    pub fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }
}

/// Looks up an environment variable.
type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Where Toolcrib runs.
#[derive(Clone)]
pub struct Surroundings {
    /// Whose conventions hold.
    pub os: Os,
    /// The user's home directory.
    pub home: PathBuf,
    /// The working directory.
    pub cwd: PathBuf,
    /// `host:port` pairs at which Toolcrib itself listens or will listen.
    pub own_addresses: Vec<String>,
    env: Arc<Lookup>,
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings")
            .field("os", &self.os)
            .field("home", &self.home)
            .field("cwd", &self.cwd)
            .field("own_addresses", &self.own_addresses)
            .finish_non_exhaustive()
    }
}

/// Directories that programs let a variable name, and where they are when it does not.
const CONVENTIONS: &[(&str, &str)] = &[
    ("XDG_CONFIG_HOME", "~/.config"),
    ("APPDATA", "~/AppData/Roaming"),
    ("LOCALAPPDATA", "~/AppData/Local"),
    ("USERPROFILE", "~"),
    ("HOME", "~"),
    ("CODEX_HOME", "~/.codex"),
    ("CLAUDE_CONFIG_DIR", "~"),
    ("COPILOT_HOME", "~/.copilot"),
];

impl Surroundings {
    /// Surroundings with a look-up for environment variables.
    pub fn new(
        os: Os,
        home: impl Into<PathBuf>,
        cwd: impl Into<PathBuf>,
        env: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            os,
            home: home.into(),
            cwd: cwd.into(),
            own_addresses: Vec::new(),
            env: Arc::new(env),
        }
    }

    /// The value of an environment variable; an empty one counts as unset.
    pub fn var(&self, name: &str) -> Option<String> {
        (self.env)(name).filter(|value| !value.is_empty())
    }

    /// A written path made absolute.
    ///
    /// A leading `~`, and `%NAME%` or `$NAME` as the first component, are replaced; a relative path
    /// starts at the working directory. `None` when a variable without a conventional place is unset.
    pub fn resolve(&self, written: &str) -> Option<PathBuf> {
        let (head, rest) = match written.find(['/', '\\']) {
            Some(end) => (&written[..end], &written[end + 1..]),
            None => (written, ""),
        };
        let base = if head == "~" {
            Some(self.home.clone())
        } else if let Some(name) = variable_of(head) {
            Some(self.directory(name)?)
        } else {
            None
        };
        let path = match base {
            Some(base) if rest.is_empty() => base,
            Some(base) => base.join(rest),
            None => PathBuf::from(written),
        };
        Some(if path.is_absolute() {
            path
        } else {
            self.cwd.join(path)
        })
    }

    /// A path as a person would write it: the home directory as `~`.
    pub fn display(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }

    fn directory(&self, variable: &str) -> Option<PathBuf> {
        if let Some(value) = self.var(variable) {
            return Some(PathBuf::from(value));
        }
        let (_, fallback) = CONVENTIONS.iter().find(|(name, _)| *name == variable)?;
        Some(match fallback.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => self.home.clone(),
        })
    }
}

/// The name in `$NAME` or `%NAME%`.
fn variable_of(component: &str) -> Option<&str> {
    component
        .strip_prefix('$')
        .or_else(|| component.strip_prefix('%')?.strip_suffix('%'))
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings() -> Surroundings {
        Surroundings::new(Os::Linux, "/home/ada", "/work/project", |name| match name {
            "CODEX_HOME" => Some("/opt/codex".to_owned()),
            "XDG_CONFIG_HOME" => Some(String::new()),
            _ => None,
        })
    }

    #[test]
    fn written_paths_are_resolved() {
        let check = |written: &str, expected: Option<&str>| {
            assert_eq!(
                surroundings().resolve(written),
                expected.map(PathBuf::from),
                "{written}"
            );
        };
        check("~/.cursor/mcp.json", Some("/home/ada/.cursor/mcp.json"));
        check("~", Some("/home/ada"));
        check("$CODEX_HOME/config.toml", Some("/opt/codex/config.toml"));
        check("$XDG_CONFIG_HOME/goose", Some("/home/ada/.config/goose"));
        check("%APPDATA%/Claude", Some("/home/ada/AppData/Roaming/Claude"));
        check(
            "%APPDATA%\\Claude",
            Some("/home/ada/AppData/Roaming/Claude"),
        );
        check(
            "$CLAUDE_CONFIG_DIR/.claude.json",
            Some("/home/ada/.claude.json"),
        );
        check(
            "./mcp-servers.yaml",
            Some("/work/project/./mcp-servers.yaml"),
        );
        check(".mcp.json", Some("/work/project/.mcp.json"));
        check("/etc/x", Some("/etc/x"));
        check("$NOWHERE/x", None);
        check("a~b/c", Some("/work/project/a~b/c"));
    }

    #[test]
    fn the_home_directory_is_shown_as_a_tilde() {
        let here = surroundings();
        assert_eq!(here.display(Path::new("/home/ada/.x/y")), "~/.x/y");
        assert_eq!(here.display(Path::new("/home/ada")), "~");
        assert_eq!(here.display(Path::new("/etc/x")), "/etc/x");
        assert!(!format!("{here:?}").contains("codex"));
    }
}
