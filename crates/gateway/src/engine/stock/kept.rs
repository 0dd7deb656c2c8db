//! Lists of servers in the hands of commands that have no engine: packed for the next process, and held
//! against what was accepted, so that what waits is the same for everybody.

use std::sync::Arc;

use toolcrib_config::load::Config;
use toolcrib_store::{Store, StoreError};

use super::{Order, Parcel, Terms, observation, read};
use crate::engine::kit::Kit;
use crate::engine::rack::{Judged, Source};
use crate::engine::supplier::Supplier;
use crate::engine::upstream::{List, Upstream};

/// What is kept or declared of every server that is switched on.
fn parcels(config: &Config, upstream: &dyn Upstream, terms: &Terms) -> Vec<Parcel> {
    let suppliers = Supplier::all(config).into_iter();
    let orders = suppliers.map(|supplier| Order {
        wanted: supplier.enabled,
        old: None,
        supplier,
    });
    orders.map(|order| order.fetch(upstream, terms)).collect()
}

/// Packs the tools of every kept list that is not packed yet, so that the next process finds them
/// without reading them. Whether they are accepted is not asked here, and not packed.
pub fn pack_kept(config: &Arc<Config>, upstream: &dyn Upstream) {
    let Ok(terms) = Terms::new(Arc::clone(config)) else {
        return;
    };
    for parcel in parcels(config, upstream, &terms) {
        let (rack, _) = parcel.stow(&Judged::Unknown, &terms);
        if let Source::Listed(said) = rack.source
            && !rack.is_packed()
            && let Some(kit) = Kit::pack(&rack, &terms)
        {
            upstream.keep_made(&rack.supplier.name, said.at_ms, &kit);
        }
    }
}

/// Holds every list that is kept against what was accepted, as an engine does that opens on it: what
/// changed waits from now on, and a question about a definition that is not offered any more lapses.
/// Connects nothing; writes only where something is new.
pub async fn observe_kept(
    config: &Arc<Config>,
    upstream: &dyn Upstream,
    store: &Store,
    now_ms: i64,
) -> Result<(), StoreError> {
    let in_use = config.settings.enabled.0;
    // Overrides that cannot be used are told by whoever judges calls.
    let Some(terms) = in_use
        .then(|| Terms::new(Arc::clone(config)).ok())
        .flatten()
    else {
        return Ok(());
    };
    let accepted = store.acceptances().await?;
    let parcels = parcels(config, upstream, &terms).into_iter();
    let new = parcels.filter(|parcel| parcel.judged(Some(&accepted), &terms).is_none());
    let mode = config.settings.policy.approval;
    let new = new.map(|parcel| observation(&parcel.supplier, parcel.definitions(), mode));
    store.observe_all(new.collect(), now_ms).await.map(drop)
}

/// Holds a list that a server has just given against what was accepted.
pub async fn observe_list(
    config: &Config,
    store: &Store,
    server: &str,
    list: List,
    now_ms: i64,
) -> Result<(), StoreError> {
    let suppliers = Supplier::all(config);
    let supplier = suppliers.iter().find(|one| *one.name == *server);
    // What the user wrote down is what holds for a server, whatever it says.
    let Some(supplier) = supplier.filter(|one| one.declared.is_empty()) else {
        return Ok(());
    };
    let definitions = read(supplier, list).definitions();
    let mode = config.settings.policy.approval;
    let observation = observation(supplier, definitions, mode);
    store.observe(observation, now_ms).await.map(drop)
}
