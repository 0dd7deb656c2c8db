//! Where the cache is and how long its entries count as fresh.

use std::path::{Path, PathBuf};

use toolcrib_core::limits::{MEMORY_CACHE_TTL_MS, REGISTRY_CACHE_TTL_MS, TOOL_CACHE_TTL_MS};

use super::Kind;

/// How a cache behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    /// Where its files are.
    pub directory: PathBuf,
    /// Whether anything is kept at all.
    pub enabled: bool,
    /// How long a tool list counts as fresh.
    pub tool_ttl_ms: i64,
    /// How long a registry answer counts as fresh.
    pub registry_ttl_ms: i64,
    /// How long an entry in memory is used without reading its file again.
    pub memory_ttl_ms: i64,
}

/// The folder of the cache that CCOS keeps, below the working directory.
const CCOS_DIRECTORY: &str = ".ccos/mcp_cache";

/// The variables for the directory, ours first.
const DIRECTORY_VARIABLES: [&str; 2] = ["TOOLCRIB_CACHE_DIR", "CCOS_MCP_CACHE_DIR"];

/// The variables for the time to live of tool lists in seconds, ours first.
const TTL_VARIABLES: [&str; 2] = ["TOOLCRIB_CACHE_TTL", "CCOS_MCP_CACHE_TTL"];

/// A variable that holds something else than it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable} is {value:?}; give a whole number of seconds, such as 86400.")]
pub struct CacheSettingError {
    /// The variable.
    pub variable: &'static str,
    /// What it holds.
    pub value: String,
}

impl CacheOptions {
    /// A cache in a directory, with the usual times.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            enabled: true,
            tool_ttl_ms: TOOL_CACHE_TTL_MS,
            registry_ttl_ms: REGISTRY_CACHE_TTL_MS,
            memory_ttl_ms: MEMORY_CACHE_TTL_MS,
        }
    }

    /// What the environment asks for. Without a directory there, the folder of CCOS is used where it
    /// already exists below `working`, else `user_cache`.
    pub fn from_environment(
        variable: impl Fn(&str) -> Option<String>,
        working: &Path,
        user_cache: &Path,
    ) -> Result<Self, CacheSettingError> {
        let given = |name: &&'static str| {
            let value = variable(name).filter(|value| !value.is_empty())?;
            Some((*name, value))
        };
        let ccos = working.join(CCOS_DIRECTORY);
        let directory = match DIRECTORY_VARIABLES.iter().find_map(given) {
            Some((_, directory)) => working.join(directory),
            None if ccos.is_dir() => ccos,
            None => user_cache.to_owned(),
        };
        let mut options = Self::new(directory);
        if let Some((variable, value)) = TTL_VARIABLES.iter().find_map(given) {
            let seconds: Result<u32, _> = value.trim().parse();
            options.tool_ttl_ms = match seconds {
                Ok(seconds) => i64::from(seconds) * 1_000,
                Err(_) => return Err(CacheSettingError { variable, value }),
            };
        }
        Ok(options)
    }

    pub(super) fn ttl_ms(&self, kind: Kind) -> i64 {
        match kind {
            Kind::Tools => self.tool_ttl_ms,
            Kind::Registry => self.registry_ttl_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(
        variables: &[(&str, &str)],
        working: &Path,
    ) -> Result<CacheOptions, CacheSettingError> {
        let get = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        CacheOptions::from_environment(get, working, Path::new("/home/u/.cache/toolcrib"))
    }

    #[test]
    fn variables_name_the_directory_ours_first() {
        let check = |variables: &[(&str, &str)], expect: &str| {
            let options = resolve(variables, Path::new("/w")).unwrap();
            assert_eq!(options.directory, Path::new(expect), "{variables:?}");
        };
        let (ours, theirs) = ("TOOLCRIB_CACHE_DIR", "CCOS_MCP_CACHE_DIR");
        check(&[], "/home/u/.cache/toolcrib");
        check(&[(theirs, "/b")], "/b");
        check(&[(theirs, "/b"), (ours, "/a")], "/a");
        check(&[(theirs, "/b"), (ours, "")], "/b");
        check(&[(ours, "rel")], "/w/rel");
    }

    #[test]
    fn the_folder_of_ccos_is_used_where_it_exists() {
        let working = tempfile::tempdir().unwrap();
        let ccos = working.path().join(".ccos").join("mcp_cache");
        std::fs::create_dir_all(&ccos).unwrap();
        assert_eq!(resolve(&[], working.path()).unwrap().directory, ccos);
    }

    #[test]
    fn the_time_to_live_is_in_seconds_and_a_day_by_default() {
        let check = |variables: &[(&str, &str)]| {
            resolve(variables, Path::new("/w")).map(|options| options.tool_ttl_ms)
        };
        let (ours, theirs) = ("TOOLCRIB_CACHE_TTL", "CCOS_MCP_CACHE_TTL");
        assert_eq!(check(&[]), Ok(86_400_000));
        assert_eq!(check(&[(theirs, "60")]), Ok(60_000));
        assert_eq!(check(&[(theirs, "60"), (ours, "0")]), Ok(0));
        let error = check(&[(ours, "a day")]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("TOOLCRIB_CACHE_TTL is \"a day\"")
        );
        assert!(check(&[(theirs, "-1")]).is_err());
    }
}
