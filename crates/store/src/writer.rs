//! The one writer of this process, and the commits that its callers share.
//!
//! Units of work queue up while a commit is on its way to the disk; the next commit takes all that
//! wait. One flush to the disk then serves many executions, and nobody is answered before it. The
//! writer has a thread of its own, so that a database that works on its caller's thread may block there.

mod aside;

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use toolcrib_core::limits::{
    STORE_BUSY_RETRIES_MAX, STORE_GROUP_MAX, STORE_QUEUE_MAX, STORE_WAL_STEP_COMMITS,
};

use crate::StoreError;
use crate::backend::{Backend, Link, Pending, Role, Session};
use aside::Aside;

/// Work that is done wholly or not at all.
///
/// It may be run more than once before it is committed, so it changes nothing but the database.
pub(crate) trait Unit: Send + Sync + 'static {
    /// What it finds out.
    type Output: Send + 'static;

    /// Does the work inside a transaction that someone else opened and will commit.
    fn run(
        &self,
        session: &mut dyn Session,
    ) -> impl Future<Output = Result<Self::Output, StoreError>> + Send;
}

/// A unit on its way, with its kind forgotten.
trait Work: Send {
    fn run<'a>(&'a mut self, session: &'a mut dyn Session) -> Pending<'a, ()>;
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Submission<U: Unit, A, F> {
    unit: U,
    output: Option<U::Output>,
    settle: F,
    reply: oneshot::Sender<Result<A, StoreError>>,
}

impl<U, A, F> Work for Submission<U, A, F>
where
    U: Unit,
    A: Send,
    F: FnOnce(&U, Result<U::Output, StoreError>) -> Result<A, StoreError> + Send,
{
    fn run<'a>(&'a mut self, session: &'a mut dyn Session) -> Pending<'a, ()> {
        Box::pin(async {
            self.output = Some(self.unit.run(session).await?);
            Ok(())
        })
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let result = match (committed, self.output) {
            (Ok(()), Some(output)) => Ok(output),
            (Ok(()), None) => Err(StoreError::failed("a unit of work was not run")),
            (Err(error), _) => Err(error),
        };
        let answer = (self.settle)(&self.unit, result);
        // The caller may have gone away; what it asked for is settled all the same.
        let _ = self.reply.send(answer);
    }
}

enum Message {
    Work(Box<dyn Work>),
    /// Something is set aside.
    Knock,
    Close(oneshot::Sender<()>),
}

/// The way to the writing thread.
pub(crate) struct Writer {
    queue: mpsc::Sender<Message>,
    aside: Arc<Aside>,
}

impl Writer {
    /// Connects and starts the writing thread.
    pub(crate) async fn start(backend: Arc<dyn Backend>) -> Result<Self, StoreError> {
        let link = backend.connect(Role::Writer).await?;
        let (queue, messages) = mpsc::channel(STORE_QUEUE_MAX);
        let aside = Arc::new(Aside::default());
        let desk = Desk {
            backend,
            link: Some(link),
            aside: Arc::clone(&aside),
            commits: Some(0),
        };
        let runtime = Handle::current();
        std::thread::Builder::new()
            .name("toolcrib-store".to_owned())
            .spawn(move || runtime.block_on(desk.serve(messages)))
            .map_err(|error| StoreError::failed(format!("no thread for the writer: {error}")))?;
        Ok(Self { queue, aside })
    }

    /// Does a unit of work and returns once it is durable; waits for a place in the queue.
    pub(crate) async fn submit<U: Unit>(&self, unit: U) -> Result<U::Output, StoreError> {
        self.submit_with(unit, |_, result| result).await
    }

    /// As [`Self::submit`], and `settle` runs when the result is known even if the caller is gone.
    pub(crate) async fn submit_with<U, A, F>(&self, unit: U, settle: F) -> Result<A, StoreError>
    where
        U: Unit,
        A: Send + 'static,
        F: FnOnce(&U, Result<U::Output, StoreError>) -> Result<A, StoreError> + Send + 'static,
    {
        self.reserve().await?.submit_with(unit, settle).await
    }

    /// As [`Self::submit_with`], but refuses when the queue is full.
    pub(crate) async fn try_submit_with<U, A, F>(&self, unit: U, settle: F) -> Result<A, StoreError>
    where
        U: Unit,
        A: Send + 'static,
        F: FnOnce(&U, Result<U::Output, StoreError>) -> Result<A, StoreError> + Send + 'static,
    {
        let (work, answer) = envelope(unit, settle);
        let message = Message::Work(work);
        self.queue.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::Overloaded,
            mpsc::error::TrySendError::Closed(_) => StoreError::Closed,
        })?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Waits for a place in the queue, so that what follows cannot be cut off half-way.
    pub(crate) async fn reserve(&self) -> Result<Place<'_>, StoreError> {
        let permit = self.queue.reserve().await.map_err(|_| StoreError::Closed)?;
        Ok(Place { permit })
    }

    /// Queues a unit without waiting for its result; `false` when the queue takes no more.
    pub(crate) fn post<U, F>(&self, unit: U, settle: F) -> bool
    where
        U: Unit,
        F: FnOnce(&U, Result<U::Output, StoreError>) -> Result<(), StoreError> + Send + 'static,
    {
        let (work, _) = envelope(unit, settle);
        self.queue.try_send(Message::Work(work)).is_ok()
    }

    /// Leaves a unit to the commit of all that is left within a moment; `settle` learns how it went.
    pub(crate) fn set_aside<U, F>(&self, unit: U, settle: F)
    where
        U: Unit,
        F: FnOnce(&U, Result<U::Output, StoreError>) -> Result<(), StoreError> + Send + 'static,
    {
        let (work, _) = envelope(unit, settle);
        if let Err(work) = self.aside.put(work, &self.queue) {
            work.answer(Err(StoreError::Closed));
        }
    }

    /// Returns once everything that was set aside before is committed, or has failed.
    pub(crate) async fn settled(&self) {
        self.aside.settled(&self.queue).await;
    }

    /// Ends the task after everything that is queued; later work is refused.
    pub(crate) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.queue.send(Message::Close(done)).await.is_ok() {
            let _ = closed.await;
        }
    }
}

/// A place in the queue.
pub(crate) struct Place<'a> {
    permit: mpsc::Permit<'a, Message>,
}

impl Place<'_> {
    /// Queues the unit at once, then waits for its result. Cancelling the wait changes nothing.
    pub(crate) async fn submit_with<U, A, F>(self, unit: U, settle: F) -> Result<A, StoreError>
    where
        U: Unit,
        A: Send + 'static,
        F: FnOnce(&U, Result<U::Output, StoreError>) -> Result<A, StoreError> + Send + 'static,
    {
        let (work, answer) = envelope(unit, settle);
        self.permit.send(Message::Work(work));
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

fn envelope<U, A, F>(
    unit: U,
    settle: F,
) -> (Box<dyn Work>, oneshot::Receiver<Result<A, StoreError>>)
where
    U: Unit,
    A: Send + 'static,
    F: FnOnce(&U, Result<U::Output, StoreError>) -> Result<A, StoreError> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    let work = Submission {
        unit,
        output: None,
        settle,
        reply,
    };
    (Box::new(work), answer)
}

/// The writing thread's own state.
struct Desk {
    backend: Arc<dyn Backend>,
    /// Absent after a failure that left the connection in doubt.
    link: Option<Box<dyn Link>>,
    aside: Arc<Aside>,
    /// How many there were, while there is something left to prepare for more of them.
    commits: Option<u32>,
}

impl Desk {
    async fn serve(mut self, mut messages: mpsc::Receiver<Message>) {
        let mut batch = Vec::with_capacity(STORE_GROUP_MAX);
        let mut closing = None;
        while closing.is_none() && messages.recv_many(&mut batch, STORE_GROUP_MAX).await > 0 {
            while batch.len() < STORE_GROUP_MAX
                && let Ok(message) = messages.try_recv()
            {
                batch.push(message);
            }
            // What was set aside waits until its moment is over: somebody waits for this commit, and the fewer
            // pages it writes, the sooner it is on the disk.
            let is_due = batch
                .iter()
                .any(|message| matches!(message, Message::Knock));
            let mut group = if is_due {
                self.aside.take()
            } else {
                Vec::new()
            };
            for message in batch.drain(..) {
                match message {
                    Message::Work(_) if closing.is_some() => {}
                    Message::Work(work) => group.push(work),
                    Message::Knock => {}
                    Message::Close(done) => closing = Some(done),
                }
            }
            self.work_off(group).await;
            self.aside.done();
            if closing.is_none() && messages.is_empty() {
                self.prepare().await;
            }
        }
        messages.close();
        let left = self.aside.close();
        self.work_off(left).await;
        self.aside.done();
        if let Some(link) = self.link.take()
            && let Err(error) = link.close().await
        {
            tracing::warn!(%error, "the store's connection did not close in order");
        }
        if let Some(done) = closing {
            let _ = done.send(());
        }
    }

    /// Uses a moment in which nobody waits. A process that commits seldom ends before it would gain anything by that.
    async fn prepare(&mut self) {
        let (Some(commits), Some(link)) = (self.commits, &mut self.link) else {
            return;
        };
        self.commits = Some(commits.saturating_add(1));
        if commits < STORE_WAL_STEP_COMMITS {
            return;
        }
        match link.prepare().await {
            Ok(true) => {}
            Ok(false) => self.commits = None,
            Err(_) => {
                self.commits = None;
                self.give_up().await;
            }
        }
    }

    /// Takes the transaction back, or gives the connection up where that fails.
    async fn give_up(&mut self) {
        if let Some(link) = &mut self.link
            && link.rollback().await.is_err()
        {
            // Whether a transaction is still open is not known.
            self.link = None;
        }
    }

    /// Commits a group together. If that fails, each unit is tried alone, so that one that cannot
    /// be done takes nobody else with it.
    async fn work_off(&mut self, mut group: Vec<Box<dyn Work>>) {
        if group.is_empty() {
            return;
        }
        if let Err(error) = self.begin().await {
            return answer_all(group, &error);
        }
        match self.run_and_commit(&mut group).await {
            Ok(()) => {
                for work in group {
                    work.answer(Ok(()));
                }
            }
            Err(error) if group.len() == 1 => answer_all(group, &error),
            Err(_) => self.work_off_singly(group).await,
        }
    }

    async fn work_off_singly(&mut self, group: Vec<Box<dyn Work>>) {
        let mut rest = group.into_iter();
        while let Some(work) = rest.next() {
            if let Err(error) = self.begin().await {
                work.answer(Err(error.clone()));
                return answer_all(rest.collect(), &error);
            }
            let mut one = vec![work];
            let result = self.run_and_commit(&mut one).await;
            for work in one {
                work.answer(result.clone());
            }
        }
    }

    async fn begin(&mut self) -> Result<(), StoreError> {
        let link = match &mut self.link {
            Some(link) => link,
            none => none.insert(self.backend.connect(Role::Writer).await?),
        };
        let mut attempt = 0;
        loop {
            match link.begin().await {
                Err(StoreError::Locked { .. }) if attempt < STORE_BUSY_RETRIES_MAX => attempt += 1,
                result => return result,
            }
        }
    }

    async fn run_and_commit(&mut self, group: &mut [Box<dyn Work>]) -> Result<(), StoreError> {
        let Some(link) = &mut self.link else {
            return Err(StoreError::failed("the connection is gone"));
        };
        let result = run_all(link.as_mut(), group).await;
        if result.is_err() {
            self.give_up().await;
        }
        result
    }
}

async fn run_all(link: &mut dyn Link, group: &mut [Box<dyn Work>]) -> Result<(), StoreError> {
    for work in group {
        work.run(link).await?;
    }
    link.commit().await
}

fn answer_all(group: Vec<Box<dyn Work>>, error: &StoreError) {
    for work in group {
        work.answer(Err(error.clone()));
    }
}
