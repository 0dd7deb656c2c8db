//! What is loaded: the configuration of the working directory, or of the file that was named, read
//! afresh each time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_config::load::{self, Config, Request};
use toolcrib_config::model::settings::{Names, Profile};
use toolcrib_config::places::Places;
use toolcrib_config::surroundings::Surroundings;
use toolcrib_config::trust::{TrustError, TrustStore};
use toolcrib_config::{Diagnostic, Difference};
use toolcrib_core::policy::Rulebook;

use crate::doors;
use crate::failure::Failure;
use crate::finding::Finding;
use crate::mcp::flat;
use crate::reload::{Attempt, Load, Refusal};

/// Reads the configuration as it is now.
#[derive(Clone, Debug)]
pub struct Loader {
    surroundings: Surroundings,
    explicit: Option<PathBuf>,
    record: PathBuf,
    names: Option<Names>,
    profile: Option<Profile>,
    listens: bool,
}

impl Loader {
    /// A loader for where we are, or for a file that was named.
    pub fn new(surroundings: Surroundings, explicit: Option<PathBuf>) -> Self {
        Self {
            record: trust_record(&surroundings),
            surroundings,
            explicit,
            names: None,
            profile: None,
            listens: false,
        }
    }

    /// Spells tool names this way, whatever the configuration says.
    #[must_use]
    pub fn names(mut self, names: Option<Names>) -> Self {
        self.names = names;
        self
    }

    /// Shows agents the five tools of this profile, whatever the configuration says.
    #[must_use]
    pub fn profile(mut self, profile: Option<Profile>) -> Self {
        self.profile = profile;
        self
    }

    /// Whether the process listens where `http.listen` says.
    #[must_use]
    pub fn listens(mut self, listens: bool) -> Self {
        self.listens = listens;
        self
    }

    /// The configuration, or why there is none in a form that a command can give back.
    pub fn config(&self) -> Result<Config, Failure> {
        self.read()
            .result
            .map_err(|refusal| Failure::configuration(refusal.message).because(refusal.diagnostics))
    }

    /// The configuration as far as it goes, and everything that is to be said about it.
    pub fn inspect(&self) -> Result<(Config, Vec<Diagnostic>), Failure> {
        let trust = self.trust()?;
        Ok(load::inspect(&self.request(&trust)))
    }

    fn trust(&self) -> Result<TrustStore, TrustError> {
        TrustStore::open(&self.record)
    }

    fn request<'a>(&'a self, trust: &'a TrustStore) -> Request<'a> {
        Request {
            surroundings: &self.surroundings,
            explicit: self.explicit.clone(),
            trust,
        }
    }
}

/// Where trusted files are recorded.
pub fn trust_record(surroundings: &Surroundings) -> PathBuf {
    Places::of(surroundings).data.join("trust.json")
}

impl Loader {
    fn read(&self) -> Attempt<Config> {
        let mut files = vec![self.record.clone()];
        let trust = match self.trust() {
            Ok(trust) => trust,
            Err(error) => {
                files.extend(self.explicit.clone());
                return Attempt {
                    result: Err(Refusal {
                        message: error.to_string(),
                        diagnostics: Vec::new(),
                    }),
                    files,
                };
            }
        };
        let result = match load::load(&self.request(&trust)) {
            Ok(mut config) => {
                config.settings.names = self.names.unwrap_or(config.settings.names);
                config.settings.profile = self.profile.unwrap_or(config.settings.profile);
                files.extend(config.watched.iter().cloned());
                self.overrides_hold(&config).map(|()| config)
            }
            Err(failure) => {
                files.extend(failure.watched);
                Err(self.refusal(&failure.diagnostics))
            }
        };
        Attempt { result, files }
    }
}

impl Loader {
    /// A configuration that no door could serve is not put in place.
    pub fn serves(&self, config: &Config) -> Result<(), Refusal> {
        let base = config.path.as_deref().and_then(Path::parent);
        let tokens = doors::tokens(&config.settings, base.unwrap_or(&self.surroundings.cwd));
        let served = tokens.map(drop).and_then(|()| flat::check(config));
        served.map_err(|message| Refusal {
            message,
            diagnostics: Vec::new(),
        })
    }
}

impl Loader {
    /// Overrides of policy that cannot be used keep a configuration from loading: without them a tool
    /// might need less than the user wrote.
    fn overrides_hold(&self, config: &Config) -> Result<(), Refusal> {
        let Err(errors) = Rulebook::compile(&config.settings.policy) else {
            return Ok(());
        };
        let file = config.path.as_ref().map(|path| path.display().to_string());
        let found = errors.iter().map(|error| Finding {
            file: file.clone(),
            ..Finding::error(format!("policy.overrides: {error}"))
        });
        let what = self.named(config.path.as_deref());
        Err(Refusal {
            message: format!("{what} does not load; correct it and try again"),
            diagnostics: found.collect(),
        })
    }

    /// One sentence over everything that is wrong.
    fn refusal(&self, diagnostics: &[Diagnostic]) -> Refusal {
        let diagnostics: Vec<Finding> = diagnostics.iter().map(Finding::from).collect();
        let errors: Vec<&Finding> = diagnostics.iter().filter(|d| d.is_error()).collect();
        let file = errors.iter().find_map(|d| d.file.as_deref().map(Path::new));
        let what = self.named(file.or(self.explicit.as_deref()));
        let message = match errors.len() {
            0 | 1 => format!("{what} does not load; correct it and try again"),
            n => format!("{what} does not load because of {n} errors; correct them and try again"),
        };
        Refusal {
            message,
            diagnostics,
        }
    }

    /// The file as a person writes it.
    fn named(&self, file: Option<&Path>) -> String {
        let named = file.map(|path| self.surroundings.display(path));
        named.unwrap_or_else(|| "the configuration".to_owned())
    }
}

impl Load for Loader {
    type Config = Arc<Config>;

    fn load(&self) -> Attempt<Arc<Config>> {
        let Attempt { result, files } = self.read();
        let result = result.and_then(|config| self.serves(&config).map(|()| Arc::new(config)));
        Attempt { result, files }
    }

    fn waiting(&self, started: &Arc<Config>, now: &Arc<Config>) -> Vec<&'static str> {
        let (old, new) = (&started.settings, &now.settings);
        let differs = [
            (
                "http.listen",
                self.listens && old.http.listen != new.http.listen,
            ),
            ("store.path", old.store.path != new.store.path),
            ("telemetry", old.telemetry != new.telemetry),
            ("log", old.log != new.log),
            (
                "capabilities.exportDirectory",
                old.capabilities.export_directory != new.capabilities.export_directory,
            ),
        ];
        let waiting = differs.into_iter().filter(|(_, differs)| *differs);
        waiting.map(|(name, _)| name).collect()
    }

    fn compare(&self, old: &Arc<Config>, new: &Arc<Config>) -> Difference {
        let mut difference = Difference::between(old, new);
        difference.settings |= old.path != new.path;
        difference
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_config::surroundings::Os;

    use super::*;

    #[test]
    fn an_override_that_cannot_be_used_keeps_the_configuration_from_loading() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("toolcrib.yaml");
        std::fs::write(&path, "policy: {overrides: [{rateLimitBucket: none}]}\n").unwrap();
        let surroundings = Surroundings::new(Os::Linux, home.path(), home.path(), |_| None);
        let attempt = Loader::new(surroundings, Some(path.clone())).load();
        let refusal = attempt.result.unwrap_err();
        assert!(refusal.diagnostics[0].message.contains("the bucket `none`"));
        assert!(attempt.files.contains(&path), "a correction is noticed");
    }

    fn loader(text: &str) -> (tempfile::TempDir, Loader) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("toolcrib.yaml");
        std::fs::write(&path, text).unwrap();
        let surroundings = Surroundings::new(Os::Linux, home.path(), home.path(), |_| None);
        let loader = Loader::new(surroundings, Some(path));
        (home, loader)
    }

    #[test]
    fn what_no_door_could_serve_is_not_put_in_place() {
        let check = |text: &str, expected: Option<&str>| {
            let (_home, loader) = loader(text);
            assert!(
                loader.config().is_ok(),
                "commands that serve nothing can use it"
            );
            match (loader.load().result, expected) {
                (Ok(_), None) => {}
                (Err(refusal), Some(part)) => {
                    assert!(refusal.message.contains(part), "{}", refusal.message);
                }
                (other, _) => panic!("{text}: {other:?}"),
            }
        };
        let jwt = "http: {jwt: {issuer: i, audience: a, jwks: 'JWKS'}}\n";
        check(&jwt.replace("JWKS", "keys.json"), None);
        check(
            &jwt.replace("JWKS", "http://example.com/keys"),
            Some("http.jwt.jwks"),
        );
        let one = "mode: flat\nservers: {a: {command: a}, b: {command: b, enabled: false}}\n";
        check(one, None);
        check(&one.replace(", enabled: false", ""), Some("`a`, `b`"));
        check("mode: flat\nservers: {}\n", Some("none is enabled"));
        check(
            "mode: flat\nservers: {}\nadapters: {s: {spec: s.yaml}}\n",
            Some("`s` is a REST API"),
        );
    }

    #[test]
    fn settings_that_are_used_once_wait_for_a_restart() {
        let check = |text: &str, listens: bool, expected: &[&str]| {
            let (_home, started) = loader("servers: {}\n");
            let (_other, changed) = loader(text);
            let before = started.load().result.unwrap();
            let after = changed.load().result.unwrap();
            let waiting = started.listens(listens).waiting(&before, &after);
            assert_eq!(waiting, expected, "{text}");
        };
        check("servers: {}\n", true, &[]);
        check("http: {listen: '127.0.0.1:1'}\n", true, &["http.listen"]);
        check("http: {listen: '127.0.0.1:1'}\n", false, &[]);
        check(
            "http: {allowedHosts: [a], jwt: {issuer: i, audience: a, jwks: k}}\n",
            true,
            &[],
        );
        check(
            "limits: {sessions: 1}\nmode: full\nprofile: gateway\nresults: {maxTokens: 200}\n",
            true,
            &[],
        );
        check(
            "store: {path: x.db}\ntelemetry: {otlpEndpoint: 'http://c'}\n",
            true,
            &["store.path", "telemetry"],
        );
        check(
            "registry: {operationsPath: x, writeOperations: true}\ncapabilities: {exportDirectory: x}\n",
            true,
            &["capabilities.exportDirectory"],
        );
    }
}
