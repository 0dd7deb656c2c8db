//! The lists of many servers at once: what was accepted is read in one go, however many there are.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Known, Observation, Observe, Observed, Plan, plan};
use crate::StoreError;
use crate::backend::{Session, args};
use crate::store::Store;
use crate::writer::Unit;

impl Store {
    /// Does what [`Store::observe`] does for the lists of any number of servers, each server once, and
    /// answers in their order. It asks the same three questions and makes one change at most,
    /// whatever the number.
    pub async fn observe_all(
        &self,
        observations: Vec<Observation>,
        now_ms: i64,
    ) -> Result<Vec<Vec<Observed>>, StoreError> {
        if observations.is_empty() {
            return Ok(Vec::new());
        }
        let observations: Arc<[Arc<Observation>]> =
            observations.into_iter().map(Arc::new).collect();
        let mut plans = self.preview(&observations).await?;
        let (places, changing): (Vec<usize>, Vec<Observe>) = plans
            .iter()
            .zip(observations.iter())
            .enumerate()
            .filter(|(_, (plan, _))| !plan.steps.is_empty())
            .map(|(place, (_, observation))| {
                let observation = Arc::clone(observation);
                let observe = Observe {
                    observation,
                    now_ms,
                };
                (place, observe)
            })
            .unzip();
        if !changing.is_empty() {
            let changed = self.inner.writer.submit(ObserveAll(changing)).await?;
            for (place, observed) in places.into_iter().zip(changed) {
                plans[place].observed = observed;
            }
        }
        Ok(plans.into_iter().map(|plan| plan.observed).collect())
    }

    /// Where the tools of many lists stand as far as that follows from what was accepted; `None` for a
    /// list that would change something, which [`Store::observe_all`] then has to see. The texts of the
    /// definitions are not looked at. Only reads.
    pub async fn standings(
        &self,
        observations: Vec<Observation>,
    ) -> Result<Vec<Option<Vec<Observed>>>, StoreError> {
        if observations.is_empty() {
            return Ok(Vec::new());
        }
        let observations: Arc<[Arc<Observation>]> =
            observations.into_iter().map(Arc::new).collect();
        let plans = self.preview(&observations).await?;
        let settled = |plan: Plan| plan.steps.is_empty().then_some(plan.observed);
        Ok(plans.into_iter().map(settled).collect())
    }

    async fn preview(&self, lists: &Arc<[Arc<Observation>]>) -> Result<Vec<Plan>, StoreError> {
        let preview = PreviewAll(Arc::clone(lists));
        self.inner.readers.snapshot(&preview).await
    }
}

/// What many observations would change, without changing it.
struct PreviewAll(Arc<[Arc<Observation>]>);

impl Unit for PreviewAll {
    type Output = Vec<Plan>;

    async fn run(&self, session: &mut dyn Session) -> Result<Vec<Plan>, StoreError> {
        let known = load_all(session).await?;
        let nothing = Known::default();
        let plans = self.0.iter().map(|observation| {
            let known = known.get(&observation.server).unwrap_or(&nothing);
            plan(observation, known)
        });
        Ok(plans.collect())
    }
}

/// The changes of many observations, all or none.
struct ObserveAll(Vec<Observe>);

impl Unit for ObserveAll {
    type Output = Vec<Vec<Observed>>;

    async fn run(&self, session: &mut dyn Session) -> Result<Vec<Vec<Observed>>, StoreError> {
        let known = load_all(session).await?;
        let nothing = Known::default();
        let mut observed = Vec::with_capacity(self.0.len());
        for observe in &self.0 {
            let known = known.get(&observe.observation.server).unwrap_or(&nothing);
            observed.push(observe.apply(session, known).await?);
        }
        Ok(observed)
    }
}

/// All of this stands in an index: the definitions beside it are many times as long.
const PINS: &str = "SELECT tool, hash, accepted_by, server FROM pin";

/// What the store knows about every server.
async fn load_all(session: &mut dyn Session) -> Result<HashMap<String, Known>, StoreError> {
    let mut all: HashMap<String, Known> = HashMap::new();
    let vetted = session
        .query("SELECT server FROM vetted_server", args![])
        .await?;
    for row in vetted {
        all.entry(row.text(0)?).or_default().is_vetted();
    }
    let pins = session.query(PINS, args![]).await?;
    for row in pins {
        all.entry(row.text(3)?).or_default().accepts(&row)?;
    }
    let requests = session
        .query(
            "SELECT id, kind, state, server FROM approval \
             WHERE kind <> 'confirmation' AND state IN ('pending', 'rejected')",
            args![],
        )
        .await?;
    for row in requests {
        all.entry(row.text(3)?).or_default().asks(&row)?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::SqliteOptions;

    #[tokio::test]
    async fn what_was_accepted_is_read_without_the_definitions() {
        let home = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(home.path().join("store.db"));
        let store = Store::open_sqlite(options, Uuid::now_v7()).await.unwrap();
        let plan = "EXPLAIN QUERY PLAN SELECT tool, hash, accepted_by, server FROM pin";
        assert!(plan.ends_with(PINS));
        let rows = store.query(plan, args![]).await.unwrap();
        let said = rows[0].text(3).unwrap();
        assert!(said.contains("COVERING INDEX pin_accepted"), "{said}");
    }
}
