//! A small configuration for the tests of this module: files of `name=value` lines.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use toolcrib_config::Difference;

use super::queue::{Queue, queue};
use super::{Attempt, Live, Load, Refusal, Requests};

/// The lines of all files that are there.
pub(super) type Lines = Vec<(String, String)>;

/// Reads the files; a line without `=` refuses the whole. A line `also=PATH` names a further file.
pub(super) struct Files(pub(super) Vec<PathBuf>);

impl Load for Files {
    type Config = Lines;

    fn load(&self) -> Attempt<Lines> {
        let mut files = self.0.clone();
        let mut lines = Lines::new();
        let mut result = Ok(());
        let mut at = 0;
        while at < files.len() {
            let text = std::fs::read_to_string(&files[at]).unwrap_or_default();
            assert!(!text.contains("PANIC"), "asked to");
            for line in text.lines() {
                match line.split_once('=') {
                    Some(("also", path)) => files.push(PathBuf::from(path)),
                    Some((name, value)) => lines.push((name.to_owned(), value.to_owned())),
                    None => {
                        result = Err(Refusal {
                            message: format!("{line} has no ="),
                            diagnostics: Vec::new(),
                        });
                    }
                }
            }
            at += 1;
        }
        Attempt {
            result: result.map(|()| lines),
            files,
        }
    }

    fn compare(&self, old: &Lines, new: &Lines) -> Difference {
        let named = |lines: &Lines, name: &str| lines.iter().find(|(n, _)| n == name).cloned();
        let mut difference = Difference::default();
        for line in new {
            match named(old, &line.0) {
                None => difference.added.push(line.0.clone()),
                Some(was) if was == *line => difference.unchanged += 1,
                Some(_) => difference.changed.push(line.0.clone()),
            }
        }
        let gone = old.iter().filter(|line| named(new, &line.0).is_none());
        difference.removed = gone.map(|line| line.0.clone()).collect();
        difference
    }
}

/// A running queue over a loader.
pub(super) struct Running<L: Load> {
    pub(super) live: Arc<Live<L::Config>>,
    pub(super) requests: Requests,
    pub(super) ending: CancellationToken,
    pub(super) task: tokio::task::JoinHandle<()>,
}

/// Loads for the first time and starts the queue, watching the files when asked to.
pub(super) fn start<L: Load>(loader: L, watched: bool) -> Running<L> {
    let first = loader.load();
    let live = Live::new(first.result.unwrap());
    let (requests, queue): (Requests, Queue<L>) =
        queue(Arc::new(loader), Arc::clone(&live), first.files);
    let ending = CancellationToken::new();
    if watched {
        tokio::spawn(super::watch::run(
            queue.files(),
            std::time::SystemTime::UNIX_EPOCH,
            requests.clone(),
            || true,
            ending.clone(),
        ));
    }
    Running {
        live,
        requests,
        task: tokio::spawn(queue.run(ending.clone())),
        ending,
    }
}
