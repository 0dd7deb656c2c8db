//! What is loaded: the configuration of the working directory, or of the file that was named, read
//! afresh each time.

use std::path::{Path, PathBuf};

use toolcrib_config::load::{self, Config, Request};
use toolcrib_config::model::settings::Names;
use toolcrib_config::places::Places;
use toolcrib_config::surroundings::Surroundings;
use toolcrib_config::trust::{TrustError, TrustStore};
use toolcrib_config::{Diagnostic, Difference};

use crate::failure::Failure;
use crate::finding::Finding;
use crate::reload::{Attempt, Load, Refusal};

/// Reads the configuration as it is now.
#[derive(Clone, Debug)]
pub struct Loader {
    surroundings: Surroundings,
    explicit: Option<PathBuf>,
    record: PathBuf,
    names: Option<Names>,
}

impl Loader {
    /// A loader for where we are, or for a file that was named.
    pub fn new(surroundings: Surroundings, explicit: Option<PathBuf>) -> Self {
        Self {
            record: trust_record(&surroundings),
            surroundings,
            explicit,
            names: None,
        }
    }

    /// Spells tool names this way, whatever the configuration says.
    #[must_use]
    pub fn names(mut self, names: Option<Names>) -> Self {
        self.names = names;
        self
    }

    /// The configuration, or why there is none in a form that a command can give back.
    pub fn config(&self) -> Result<Config, Failure> {
        self.load()
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

impl Load for Loader {
    type Config = Config;

    fn load(&self) -> Attempt<Config> {
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
                files.extend(config.watched.iter().cloned());
                Ok(config)
            }
            Err(failure) => {
                files.extend(failure.watched);
                Err(refusal(&failure.diagnostics, self.explicit.as_deref()))
            }
        };
        Attempt { result, files }
    }

    fn compare(&self, old: &Config, new: &Config) -> Difference {
        let mut difference = Difference::between(old, new);
        difference.settings |= old.path != new.path;
        difference
    }
}

/// One sentence over everything that is wrong.
fn refusal(diagnostics: &[Diagnostic], named: Option<&Path>) -> Refusal {
    let diagnostics: Vec<Finding> = diagnostics.iter().map(Finding::from).collect();
    let errors: Vec<&Finding> = diagnostics.iter().filter(|d| d.is_error()).collect();
    let file = errors.iter().find_map(|d| d.file.clone());
    let file = file.or_else(|| named.map(|path| path.display().to_string()));
    let what = file.unwrap_or_else(|| "the configuration".to_owned());
    let message = match errors.len() {
        0 | 1 => format!("{what} does not load; correct it and try again"),
        n => format!("{what} does not load because of {n} errors; correct them and try again"),
    };
    Refusal {
        message,
        diagnostics,
    }
}
