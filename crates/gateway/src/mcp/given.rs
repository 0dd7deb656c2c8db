//! What clients were given of each server: only what is something else since is news to them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::rack::Rack;
use crate::engine::snapshot::Snapshot;

/// The tools of each server as they were when a list was first made of them, or when news of them was last told.
#[derive(Default)]
pub(crate) struct Given {
    racks: Mutex<HashMap<String, Arc<Rack>>>,
}

impl Given {
    /// Notes what a list holds of a server that was asked between two looks at the catalog. What was given before
    /// stays noted: those who have that list were not told yet.
    pub(crate) fn note(&self, server: &str, before: &Snapshot, after: &Snapshot) {
        let known = before.own_rack(server).filter(|rack| rack.is_known());
        if let Some(rack) = known.or_else(|| after.own_rack(server)) {
            let mut racks = self.racks.lock().unwrap_or_else(PoisonError::into_inner);
            let noted = racks.entry(server.to_owned());
            noted.or_insert_with(|| Arc::clone(rack));
        }
    }

    /// Notes what servers offer now as given, and says whether that is something else than was given before.
    pub(crate) fn renew(&self, now: &Snapshot) -> bool {
        let mut racks = self.racks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_other = false;
        racks.retain(|server, given| {
            let Some(rack) = now.own_rack(server) else {
                is_other = true;
                return false;
            };
            is_other |= !Arc::ptr_eq(rack, given) && !rack.offers_as(given);
            *given = Arc::clone(rack);
            true
        });
        is_other
    }
}
