//! Where Toolcrib's own files stand, on each operating system.

use std::path::PathBuf;

use crate::surroundings::{Os, Surroundings};

/// The directories of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Configuration files.
    pub config: PathBuf,
    /// State that must not be lost.
    pub data: PathBuf,
    /// What can be fetched again.
    pub cache: PathBuf,
}

impl Places {
    /// The directories by the custom of the operating system, all ending in `toolcrib`.
    pub fn of(surroundings: &Surroundings) -> Self {
        let home = surroundings.home.as_path();
        let variable = |name: &str, fallback: PathBuf| -> PathBuf {
            surroundings
                .var(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute() || surroundings.os == Os::Windows)
                .unwrap_or(fallback)
        };
        let data;
        let (config, cache) = match surroundings.os {
            Os::Linux => {
                data = variable("XDG_DATA_HOME", home.join(".local/share"));
                (
                    variable("XDG_CONFIG_HOME", home.join(".config")),
                    variable("XDG_CACHE_HOME", home.join(".cache")),
                )
            }
            Os::MacOs => {
                data = home.join("Library/Application Support");
                (data.clone(), home.join("Library/Caches"))
            }
            Os::Windows => {
                data = variable("LOCALAPPDATA", home.join("AppData").join("Local"));
                (
                    variable("APPDATA", home.join("AppData").join("Roaming")),
                    data.join("Temp"),
                )
            }
        };
        Self {
            config: config.join("toolcrib"),
            cache: cache.join("toolcrib"),
            data: data.join("toolcrib"),
        }
    }

    /// The directory of cached tool lists: the environment, then the setting, then
    /// `.ccos/mcp_cache` where that folder already exists, then the user's cache directory.
    pub fn tool_lists(&self, surroundings: &Surroundings, setting: Option<&str>) -> PathBuf {
        let variable = surroundings
            .var("TOOLCRIB_CACHE_DIR")
            .or_else(|| surroundings.var("CCOS_MCP_CACHE_DIR"));
        if let Some(directory) = variable.as_deref().or(setting) {
            return surroundings
                .resolve(directory)
                .unwrap_or_else(|| PathBuf::from(directory));
        }
        let folder = surroundings.cwd.join(".ccos/mcp_cache");
        if folder.is_dir() {
            folder
        } else {
            self.cache.clone()
        }
    }
}
