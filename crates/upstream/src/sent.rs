//! How often a call was sent: whoever answers for it is to be told, also where the call is cut off in the middle.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Counts how often a call may have reached what it was sent to. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Sent(Arc<AtomicU32>);

impl Sent {
    /// How often it was sent; what certainly had no effect is not counted.
    pub fn times(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// It is being sent.
    pub fn begin(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    /// What was begun last certainly had no effect.
    pub(crate) fn take_back(&self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_had_no_effect_is_not_counted() {
        let sent = Sent::default();
        let same = sent.clone();
        same.begin();
        same.begin();
        same.take_back();
        assert_eq!(sent.times(), 1);
    }
}
