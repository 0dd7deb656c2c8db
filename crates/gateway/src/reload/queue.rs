//! Reload requests, answered one after the other.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use toolcrib_core::limits;

use super::{Attempt, Brief, Cause, Generation, Live, Load, Outcome, Refusal, Report};

/// Where reloads are asked for. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Requests {
    sender: mpsc::Sender<Request>,
    last: Arc<Mutex<Option<Arc<Report>>>>,
    /// The generation that the process was started with.
    started: u64,
}

#[derive(Debug)]
struct Request {
    cause: Cause,
    answer: Option<oneshot::Sender<Arc<Report>>>,
}

/// The process is ending and reloads nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the process is ending and does not reload any more")]
pub struct Ending;

impl Requests {
    /// Asks for a reload and waits for the outcome of a load that began after this call.
    pub async fn reload(&self, cause: Cause) -> Result<Arc<Report>, Ending> {
        let (answer, outcome) = oneshot::channel();
        let request = Request {
            cause,
            answer: Some(answer),
        };
        self.sender.send(request).await.map_err(|_| Ending)?;
        outcome.await.map_err(|_| Ending)
    }

    /// Asks for a reload and goes on.
    ///
    /// Where too many wait already nothing is lost: a load that has not begun will answer them, and
    /// it reads the files as they are then.
    pub fn ask(&self, cause: Cause) {
        let request = Request {
            cause,
            answer: None,
        };
        let _ = self.sender.try_send(request);
    }

    /// Notes that the files were looked at once more after the start and need not be read again.
    pub fn note_untouched(&self) {
        self.remember(&Arc::new(Report {
            cause: Cause::Recheck,
            generation: self.started,
            took_ms: 0,
            waiting_for_restart: Vec::new(),
            outcome: Outcome::Unchanged,
        }));
    }

    /// The last reload since the start, where there was one. A second look that found nothing does
    /// not take the place of one that did.
    pub fn last(&self) -> Option<Arc<Report>> {
        self.lock().clone()
    }

    /// Keeps the report, unless it is only a second look that found nothing.
    fn remember(&self, report: &Arc<Report>) {
        let mut last = self.lock();
        let idle = report.cause == Cause::Recheck && report.outcome == Outcome::Unchanged;
        if !idle || last.as_ref().is_none_or(|last| !last.is_current()) {
            *last = Some(Arc::clone(report));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Report>>> {
        self.last
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The far end of [`Requests`]: what does the loading.
#[derive(Debug)]
pub struct Queue<L: Load> {
    loader: Arc<L>,
    live: Arc<Live<L::Config>>,
    /// What the process was started with.
    started: Arc<Generation<L::Config>>,
    receiver: mpsc::Receiver<Request>,
    requests: Requests,
    files: watch::Sender<Vec<PathBuf>>,
    looks: watch::Sender<u64>,
}

/// A queue for the configuration in place, and where to ask it. `files` are those that decided the
/// first load.
pub fn queue<L: Load>(
    loader: Arc<L>,
    live: Arc<Live<L::Config>>,
    files: Vec<PathBuf>,
) -> (Requests, Queue<L>) {
    let (sender, receiver) = mpsc::channel(limits::RELOAD_REQUESTS_MAX);
    let requests = Requests {
        sender,
        last: Arc::default(),
        started: live.current().number,
    };
    let queue = Queue {
        loader,
        started: live.current(),
        live,
        receiver,
        requests: requests.clone(),
        files: watch::Sender::new(files),
        looks: watch::Sender::new(0),
    };
    (requests, queue)
}

impl<L: Load> Queue<L> {
    /// The files that decide, as they are known from the last load.
    pub fn files(&self) -> watch::Receiver<Vec<PathBuf>> {
        self.files.subscribe()
    }

    /// Changes whenever somebody asked for a reload that was not refused, whether or not it changed the
    /// configuration: files that it names may have changed all the same.
    pub fn looks(&self) -> watch::Receiver<u64> {
        self.looks.subscribe()
    }

    /// Answers requests until the token is cancelled.
    pub async fn run(mut self, ending: CancellationToken) {
        let mut waiting = Vec::new();
        loop {
            let count = tokio::select! {
                () = ending.cancelled() => return,
                count = self.receiver.recv_many(&mut waiting, limits::RELOAD_REQUESTS_MAX) => count,
            };
            if count == 0 {
                return;
            }
            // All of these were made before the load begins, so one load answers them all.
            let report = Arc::new(self.reload(waiting[0].cause).await);
            report.log();
            self.requests.remember(&report);
            let is_idle = report.cause == Cause::Recheck && report.outcome == Outcome::Unchanged;
            if !is_idle && !matches!(report.outcome, Outcome::Refused { .. }) {
                self.looks.send_modify(|count| *count += 1);
            }
            for request in waiting.drain(..) {
                if let Some(answer) = request.answer {
                    let _ = answer.send(Arc::clone(&report));
                }
            }
        }
    }

    async fn reload(&self, cause: Cause) -> Report {
        let began = Instant::now();
        let loader = Arc::clone(&self.loader);
        let live = Arc::clone(&self.live);
        let work = tokio::task::spawn_blocking(move || load_and_replace(&*loader, &live));
        let outcome = match work.await {
            Ok((outcome, files)) => {
                self.files.send_if_modified(|known| {
                    let new = *known != files;
                    *known = files;
                    new
                });
                outcome
            }
            Err(_) => Outcome::Refused {
                error: Refusal {
                    message: "reading the configuration failed inside Toolcrib; this is a bug"
                        .into(),
                    diagnostics: Vec::new(),
                },
            },
        };
        let now = self.live.current();
        let waiting = self.loader.waiting(&self.started.config, &now.config);
        Report {
            cause,
            generation: now.number,
            took_ms: millis(began.elapsed()),
            waiting_for_restart: waiting.into_iter().map(str::to_owned).collect(),
            outcome,
        }
    }
}

/// Loads, compares and, where something changed, puts in place: the whole of a reload without the
/// queue before it.
pub fn load_and_replace<L: Load>(loader: &L, live: &Live<L::Config>) -> (Outcome, Vec<PathBuf>) {
    let Attempt { result, files } = loader.load();
    let outcome = match result {
        Err(error) => Outcome::Refused { error },
        Ok(config) => {
            let difference = loader.compare(&live.current().config, &config);
            if difference.is_empty() {
                Outcome::Unchanged
            } else {
                let brief = Brief::from(&difference);
                live.replace(config, difference);
                Outcome::Applied { difference: brief }
            }
        }
    };
    (outcome, files)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
