//! How many servers are asked at once, and who need not wait for that.

use std::collections::HashSet;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit, watch};
use toolcrib_core::limits::DISCOVERY_PLACE_MS;

/// Places for servers that are being asked. One is held for an attempt, not for the pauses between, and
/// not for as long as a server that hangs keeps silent.
#[derive(Debug)]
pub struct Places {
    free: Semaphore,
    /// Servers that somebody waits for by name.
    hurried: watch::Sender<HashSet<String>>,
}

impl Places {
    /// So many places.
    pub fn new(most: usize) -> Self {
        Self {
            free: Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS)),
            hurried: watch::Sender::default(),
        }
    }

    /// How many places nobody holds.
    pub fn free(&self) -> usize {
        self.free.available_permits()
    }

    /// Lets the next attempt at a server begin at once, however many are being asked: somebody waits
    /// for this one.
    pub fn hurry(&self, server: &str) {
        self.hurried.send_if_modified(|hurried| {
            let is_news = !hurried.contains(server);
            if is_news {
                hurried.insert(server.to_owned());
            }
            is_news
        });
    }

    /// Makes an attempt at a server when there is a place for it.
    pub async fn within<T>(&self, server: &str, attempt: impl Future<Output = T>) -> T {
        let place = self.place(server).await;
        let mut attempt = std::pin::pin!(attempt);
        let patience = Duration::from_millis(DISCOVERY_PLACE_MS);
        if let Ok(outcome) = tokio::time::timeout(patience, &mut attempt).await {
            return outcome;
        }
        drop(place);
        attempt.await
    }

    /// A place, or none for whom it is not needed.
    async fn place(&self, server: &str) -> Option<SemaphorePermit<'_>> {
        let mut hurried = self.hurried.subscribe();
        let place = tokio::select! {
            biased;
            _ = hurried.wait_for(|hurried| hurried.contains(server)) => None,
            place = self.free.acquire() => place.ok(),
        };
        self.hurried
            .send_if_modified(|hurried| hurried.remove(server));
        place
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::time::Instant;

    use super::*;

    const PLACE: Duration = Duration::from_millis(DISCOVERY_PLACE_MS);

    #[tokio::test(start_paused = true)]
    async fn more_servers_that_hang_than_places_do_not_keep_the_others_waiting() {
        let places = Arc::new(Places::new(5));
        let hanging: Vec<_> = (0..12)
            .map(|n| {
                let places = Arc::clone(&places);
                let hangs = std::future::pending::<()>();
                tokio::spawn(async move { places.within(&format!("h{n}"), hangs).await })
            })
            .collect();
        tokio::task::yield_now().await;
        assert_eq!(places.free(), 0);
        let began = Instant::now();
        places.hurry("named");
        places.within("named", async {}).await;
        assert_eq!(began.elapsed(), Duration::ZERO, "somebody waits for it");
        places.within("last", async {}).await;
        assert_eq!(began.elapsed(), 2 * PLACE);
        tokio::time::sleep(2 * PLACE).await;
        assert_eq!(places.free(), 5);
        hanging.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_is_in_the_queue_already_can_be_hurried_and_only_once() {
        let places = Arc::new(Places::new(1));
        let began = Instant::now();
        let wait = |name: &'static str, takes: Duration| {
            let places = Arc::clone(&places);
            tokio::spawn(async move {
                let asking = async { tokio::time::sleep(takes).await };
                places.within(name, asking).await;
                began.elapsed()
            })
        };
        let second = Duration::from_secs(1);
        let first = wait("a", 2 * second);
        let queued = wait("b", second);
        tokio::time::sleep(second).await;
        places.hurry("b");
        assert_eq!(queued.await.unwrap(), 2 * second);
        assert_eq!(first.await.unwrap(), 2 * second);
        let (one, other) = (wait("a", second), wait("b", second));
        assert_eq!(one.await.unwrap(), 3 * second);
        assert_eq!(other.await.unwrap(), 4 * second);
    }
}
