//! The configuration in place: readers take it whole and never wait.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::watch;
use toolcrib_config::Difference;

/// A configuration and its place in the sequence.
#[derive(Debug)]
pub struct Generation<C> {
    /// Counts from one, by one with every configuration that was put in place.
    pub number: u64,
    /// The configuration.
    pub config: C,
    /// What differs from the generation before; the first one differs in nothing.
    pub difference: Difference,
}

/// The generation in place.
///
/// [`Live::current`] never blocks and is never half of one generation and half of another.
#[derive(Debug)]
pub struct Live<C> {
    current: ArcSwap<Generation<C>>,
    number: watch::Sender<u64>,
}

impl<C: Send + Sync + 'static> Live<C> {
    /// Puts the first configuration in place.
    pub fn new(config: C) -> Arc<Self> {
        Arc::new(Self {
            current: ArcSwap::from_pointee(Generation {
                number: 1,
                config,
                difference: Difference::default(),
            }),
            number: watch::Sender::new(1),
        })
    }

    /// The generation in place now. A request takes it once and uses it to its end.
    pub fn current(&self) -> Arc<Generation<C>> {
        self.current.load_full()
    }

    /// Who waits here sees every replacement, or several as one.
    pub fn changes(self: &Arc<Self>) -> Changes<C> {
        let mut number = self.number.subscribe();
        let seen = self.current();
        number.mark_changed();
        Changes {
            live: Arc::clone(self),
            number,
            seen,
        }
    }

    /// Puts a configuration in place. Only [`super::queue`] does, one after the other.
    pub(super) fn replace(&self, config: C, difference: Difference) -> u64 {
        let number = self.current.load().number + 1;
        self.current.store(Arc::new(Generation {
            number,
            config,
            difference,
        }));
        self.number.send_replace(number);
        number
    }
}

/// The replacements since the last look.
#[derive(Debug)]
pub struct Changes<C> {
    live: Arc<Live<C>>,
    number: watch::Receiver<u64>,
    seen: Arc<Generation<C>>,
}

impl<C: Send + Sync + 'static> Changes<C> {
    /// Waits for a generation other than the last one seen, and gives both. Who was slow gets the
    /// newest one, so what changed is found by comparing these two.
    pub async fn next(&mut self) -> (Arc<Generation<C>>, Arc<Generation<C>>) {
        loop {
            // The sender lives in `live`, which is held here: this cannot fail.
            let _ = self.number.changed().await;
            let now = self.live.current();
            if now.number != self.seen.number {
                let before = std::mem::replace(&mut self.seen, Arc::clone(&now));
                return (before, now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_subscriber_sees_the_newest_generation_and_the_one_it_knew() {
        let live = Live::new("a");
        let mut changes = live.changes();
        live.replace("b", Difference::default());
        live.replace("c", Difference::default());
        let (before, now) = changes.next().await;
        assert_eq!((before.config, now.config, now.number), ("a", "c", 3));
    }

    #[tokio::test]
    async fn a_change_between_subscribing_and_waiting_is_not_lost() {
        let live = Live::new(1);
        let mut changes = live.changes();
        let waiting = tokio::spawn(async move { changes.next().await.1.number });
        tokio::task::yield_now().await;
        live.replace(2, Difference::default());
        assert_eq!(waiting.await.unwrap(), 2);
    }

    #[test]
    fn a_generation_stays_whole_for_who_holds_it() {
        let live = Live::new(1);
        let held = live.current();
        live.replace(2, Difference::default());
        assert_eq!((held.number, held.config), (1, 1));
        assert_eq!((live.current().number, live.current().config), (2, 2));
    }
}
