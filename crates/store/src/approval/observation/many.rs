//! The lists of many servers at once: what was accepted is read in one go, however many there are.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Known, Observation, Observe, Observed, Plan, plan};
use crate::StoreError;
use crate::backend::{Session, args};
use crate::store::Store;
use crate::writer::Unit;

/// What was accepted of the tools of every server, as it stood at one moment.
pub struct Acceptances(HashMap<String, Known>);

impl Acceptances {
    /// Where the tools of a list stand as far as that follows from what was accepted; `None` where the list would
    /// change something, which [`Store::observe_all`] then has to see. The texts of the definitions are not
    /// looked at.
    pub fn standing(&self, observation: &Observation) -> Option<Vec<Observed>> {
        let plan = self.plan(observation);
        plan.steps.is_empty().then_some(plan.observed)
    }

    fn plan(&self, observation: &Observation) -> Plan {
        match self.0.get(&observation.server) {
            Some(known) => plan(observation, known),
            None => plan(observation, &Known::default()),
        }
    }
}

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
        let accepted = self.acceptances().await?;
        let mut plans: Vec<Plan> = observations
            .iter()
            .map(|list| accepted.plan(list))
            .collect();
        let observations: Vec<Arc<Observation>> = observations.into_iter().map(Arc::new).collect();
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

    /// What was accepted of the tools of every server. Only reads.
    pub async fn acceptances(&self) -> Result<Acceptances, StoreError> {
        self.inner.readers.snapshot(&LoadAll).await
    }
}

/// Everything that was accepted.
struct LoadAll;

impl Unit for LoadAll {
    type Output = Acceptances;

    async fn run(&self, session: &mut dyn Session) -> Result<Acceptances, StoreError> {
        load_all(session).await.map(Acceptances)
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
    // Those of a server come one after the other as a rule, so that it is looked up once.
    let mut of_one: Option<(String, Known)> = None;
    for row in pins {
        let [tool, hash, by, server] = row.into_texts()?;
        if of_one.as_ref().is_none_or(|(name, _)| *name != server) {
            let known = all.remove(&server).unwrap_or_default();
            all.extend(of_one.replace((server, known)));
        }
        if let Some((_, known)) = &mut of_one {
            known.accepts(tool, hash, &by);
        }
    }
    all.extend(of_one);
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
    let ordered = all.into_iter();
    Ok(ordered
        .map(|(server, known)| (server, known.in_order()))
        .collect())
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
