//! Environment variables that override settings.

use crate::diagnostic::Diagnostic;
use crate::model::settings::{Mode, Profile, Settings};
use crate::surroundings::Surroundings;

/// Applies the variables of the documents and our own. One that cannot be read is an error that
/// names it; the setting then stays as it was.
pub fn apply(settings: &mut Settings, surroundings: &Surroundings) -> Vec<Diagnostic> {
    let mut wrong = Vec::new();
    let mut read = |name: &str, wanted: &str, set: &mut dyn FnMut(&str) -> bool| {
        if let Some(value) = surroundings.var(name)
            && !set(&value)
        {
            wrong.push(
                Diagnostic::error(format!("the environment variable {name} must be {wanted}"))
                    .help(format!("unset {name} or correct it")),
            );
        }
    };
    read("TOOLCRIB_PROFILE", "`discovery` or `gateway`", &mut |v| {
        let profile = match v {
            "discovery" => Profile::Discovery,
            "gateway" => Profile::Gateway,
            _ => return false,
        };
        settings.profile = profile;
        true
    });
    read("MCP_TOOL_MODE", "`lazy`, `full` or `flat`", &mut |v| {
        let mode = match v {
            "lazy" => Mode::Lazy,
            "full" => Mode::Full,
            "flat" => Mode::Flat,
            _ => return false,
        };
        settings.mode = mode;
        true
    });
    read(
        "MCP_SEARCH_MIN_CONFIDENCE",
        "a number from 0 to 1",
        &mut |v| match v.parse::<f64>() {
            Ok(value) if (0.0..=1.0).contains(&value) => {
                settings.search.min_confidence = value;
                true
            }
            _ => false,
        },
    );
    read(
        "MCP_DEFAULT_LIMIT",
        "a whole number from 1 to 50",
        &mut |v| match v.parse::<u32>() {
            Ok(value) if (1..=50).contains(&value) => {
                settings.search.default_limit = value;
                true
            }
            _ => false,
        },
    );
    read("MCP_REGISTRY_PATH", "a path", &mut |v| {
        v.clone_into(&mut settings.registry.operations_path);
        true
    });
    for name in ["CCOS_MCP_CACHE_TTL", "TOOLCRIB_CACHE_TTL"] {
        read(
            name,
            "a number of seconds",
            &mut |v| match v.parse::<u64>() {
                Ok(value) => {
                    settings.cache.get_or_insert_default().tool_list_ttl = value;
                    true
                }
                Err(_) => false,
            },
        );
    }
    for name in ["CCOS_MCP_CACHE_DIR", "TOOLCRIB_CACHE_DIR"] {
        read(name, "a directory", &mut |v| {
            settings.cache.get_or_insert_default().directory = Some(v.to_owned());
            true
        });
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::Os;

    fn with(pairs: &'static [(&'static str, &'static str)]) -> (Settings, Vec<Diagnostic>) {
        let surroundings = Surroundings::new(Os::Linux, "/h", "/c", move |name| {
            pairs
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        });
        let mut settings = Settings::default();
        let wrong = apply(&mut settings, &surroundings);
        (settings, wrong)
    }

    #[test]
    fn each_variable_overrides_its_setting() {
        let (settings, wrong) = with(&[
            ("TOOLCRIB_PROFILE", "gateway"),
            ("MCP_TOOL_MODE", "full"),
            ("MCP_SEARCH_MIN_CONFIDENCE", "0.7"),
            ("MCP_DEFAULT_LIMIT", "5"),
            ("MCP_REGISTRY_PATH", "ops.json"),
            ("CCOS_MCP_CACHE_TTL", "1"),
            ("TOOLCRIB_CACHE_TTL", "2"),
            ("CCOS_MCP_CACHE_DIR", "/x"),
        ]);
        assert_eq!(wrong, []);
        assert_eq!(settings.profile, Profile::Gateway);
        assert_eq!(settings.mode, Mode::Full);
        assert!((settings.search.min_confidence - 0.7).abs() < 1e-9);
        assert_eq!(settings.search.default_limit, 5);
        assert_eq!(settings.registry.operations_path, "ops.json");
        let cache = settings.cache.unwrap();
        assert_eq!(
            (cache.tool_list_ttl, cache.directory.as_deref()),
            (2, Some("/x"))
        );
        assert_eq!(
            with(&[("TOOLCRIB_PROFILE", "discovery"), ("MCP_TOOL_MODE", "flat")])
                .0
                .mode,
            Mode::Flat
        );
    }

    #[test]
    fn a_variable_that_cannot_be_read_names_itself() {
        let (settings, wrong) = with(&[
            ("TOOLCRIB_PROFILE", "x"),
            ("MCP_TOOL_MODE", "x"),
            ("MCP_SEARCH_MIN_CONFIDENCE", "2"),
            ("MCP_DEFAULT_LIMIT", "0"),
            ("TOOLCRIB_CACHE_TTL", "soon"),
        ]);
        assert_eq!(settings, Settings::default());
        let text: Vec<String> = wrong.iter().map(|d| d.message.clone()).collect();
        assert_eq!(text.len(), 5);
        assert!(
            text.iter()
                .any(|t| t.contains("MCP_TOOL_MODE must be `lazy`, `full` or `flat`"))
        );
    }
}
