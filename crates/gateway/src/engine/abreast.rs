//! The same work on many things at once, on as many threads as there are processors.

use std::sync::{Arc, Mutex, PoisonError};

use super::stock::blocking;

/// Does the work on every item, away from the tasks that answer requests, and gives what came of it in the
/// order of the items. However many items there are, no more threads are used than can run at once:
/// each keeps words and memory of its own.
pub(super) async fn abreast<T, U>(
    items: Vec<T>,
    work: impl Fn(T) -> U + Send + Sync + 'static,
) -> Vec<U>
where
    T: Send + 'static,
    U: Send + 'static,
{
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = processors.min(items.len());
    let queue = Arc::new(Mutex::new(items.into_iter().enumerate()));
    let work = Arc::new(work);
    let shifts = (0..workers).map(|_| {
        let (queue, work) = (Arc::clone(&queue), Arc::clone(&work));
        blocking(move || {
            let take = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let mut done = Vec::new();
            while let Some((place, item)) = take() {
                done.push((place, work(item)));
            }
            done
        })
    });
    let mut done: Vec<(usize, U)> = futures::future::join_all(shifts)
        .await
        .into_iter()
        .flatten()
        .collect();
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;

    use super::*;

    #[tokio::test]
    async fn a_thousand_things_are_done_in_order_by_no_more_threads_than_processors() {
        let threads = Arc::new(Mutex::new(HashSet::new()));
        let seen = Arc::clone(&threads);
        let doubled = abreast((0..1_000).collect(), move |number: u32| {
            seen.lock().unwrap().insert(std::thread::current().id());
            number * 2
        })
        .await;
        let expected: Vec<u32> = (0..1_000).map(|number| number * 2).collect();
        assert_eq!(doubled, expected);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        assert!(threads.lock().unwrap().len() <= processors);
        assert!(abreast(Vec::<u32>::new(), |x| x).await.is_empty());
    }
}
