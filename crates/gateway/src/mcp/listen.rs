//! Telling clients what has changed.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::error::RecvError;
use toolcrib_core::limits::{DOOR_SUBSCRIPTIONS_MAX, FOLLOW_WAIT_MS_MAX};
use toolcrib_core::rpc::{self, Fault, Id};

use super::fields::raw;
use super::gate::retry_after_ms;
use super::meta::SUBSCRIPTION_ID;
use super::outlet::Outlet;
use super::service::{Outcome, Service};
use super::surface::{Change, Context};

/// What a client of the stateless era wants to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Filter {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    resource_subscriptions: Vec<String>,
}

#[derive(Deserialize)]
struct Params {
    notifications: Filter,
}

impl Filter {
    fn read(params: Option<&RawValue>) -> Result<Self, Fault> {
        let wrong = |why: String| Fault::new(rpc::INVALID_PARAMS, why);
        let text = params.map_or("{}", RawValue::get);
        let Params { notifications } = serde_json::from_str(text)
            .map_err(|error| wrong(format!("`notifications`: {error}")))?;
        if notifications.resource_subscriptions.len() > DOOR_SUBSCRIPTIONS_MAX {
            return Err(wrong(format!(
                "more than {DOOR_SUBSCRIPTIONS_MAX} resources cannot be followed at once"
            )));
        }
        Ok(notifications)
    }

    /// What of it is offered.
    fn honoured(mut self, capabilities: &Map<String, Value>) -> Self {
        let offers = |of: &str, what: &str| {
            let offered = capabilities.get(of).and_then(|of| of.get(what));
            offered.is_some_and(|offered| *offered == Value::Bool(true))
        };
        self.tools_list_changed &= offers("tools", "listChanged");
        self.prompts_list_changed &= offers("prompts", "listChanged");
        self.resources_list_changed &= offers("resources", "listChanged");
        if !offers("resources", "subscribe") {
            self.resource_subscriptions.clear();
        }
        self
    }

    fn shown(&self) -> Value {
        let mut shown = Map::new();
        for (name, wanted) in [
            ("toolsListChanged", self.tools_list_changed),
            ("promptsListChanged", self.prompts_list_changed),
            ("resourcesListChanged", self.resources_list_changed),
        ] {
            if wanted {
                shown.insert(name.to_owned(), true.into());
            }
        }
        if !self.resource_subscriptions.is_empty() {
            shown.insert(
                "resourceSubscriptions".to_owned(),
                json!(self.resource_subscriptions),
            );
        }
        shown.into()
    }

    fn wants(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools_list_changed,
            Change::Prompts => self.prompts_list_changed,
            Change::Resources => self.resources_list_changed,
            Change::Resource(uri) => self.resource_subscriptions.contains(uri),
        }
    }
}

/// The notification of a change, with `meta` in it.
pub(super) fn notification(change: &Change, meta: Option<&Value>) -> Vec<u8> {
    let mut params = Map::new();
    let method = match change {
        Change::Tools => "notifications/tools/list_changed",
        Change::Prompts => "notifications/prompts/list_changed",
        Change::Resources => "notifications/resources/list_changed",
        Change::Resource(uri) => {
            params.insert("uri".to_owned(), json!(uri));
            "notifications/resources/updated"
        }
    };
    if let Some(meta) = meta {
        params.insert("_meta".to_owned(), meta.clone());
    }
    let params = (!params.is_empty()).then_some(&params);
    rpc::notification(method, params)
}

/// What a listener that fell behind is told: everything may have changed.
pub(crate) const MISSED: [Change; 3] = [Change::Tools, Change::Prompts, Change::Resources];

/// Answers `subscriptions/listen`: tells what changes until the client or the process has enough.
pub(super) async fn listen(
    service: &Service,
    id: &Id,
    params: Option<&RawValue>,
    context: &Context,
    outlet: &dyn Outlet,
) -> Outcome {
    let filter = Filter::read(params)?;
    let _entry = service.gate().listen()?;
    let mut changes = service.surface().changes(&context.caller);
    let description = service.describe(context).await?;
    let filter = filter.honoured(&description.capabilities);
    follow(service, "resources/subscribe", &filter, context).await;
    let meta = json!({ SUBSCRIPTION_ID: id });
    let acknowledged = json!({ "notifications": filter.shown(), "_meta": meta });
    outlet.push(rpc::notification(
        "notifications/subscriptions/acknowledged",
        Some(&acknowledged),
    ));
    loop {
        let change = tokio::select! {
            change = changes.recv() => change,
            () = context.cancel.cancelled() => break,
            () = service.closing().cancelled() => break,
        };
        let told: &[Change] = match &change {
            Ok(change) => std::slice::from_ref(change),
            Err(RecvError::Lagged(_)) => &MISSED,
            Err(RecvError::Closed) => break,
        };
        for change in told.iter().filter(|change| filter.wants(change)) {
            outlet.push(notification(change, Some(&meta)));
        }
    }
    follow(service, "resources/unsubscribe", &filter, context).await;
    Ok(raw(&json!({ "resultType": "complete", "_meta": meta })))
}

async fn follow(service: &Service, method: &str, filter: &Filter, context: &Context) {
    for uri in &filter.resource_subscriptions {
        let params = raw(&json!({ "uri": uri }));
        // A resource that cannot be followed never changes; the others still do.
        if let Err(error) = patiently(service, method, &params, context).await {
            tracing::debug!(%uri, %error, "{method} failed");
        }
    }
}

/// Asks, and waits where a rate limit says so: of many resources the last would otherwise not be followed.
async fn patiently(
    service: &Service,
    method: &str,
    params: &RawValue,
    context: &Context,
) -> Outcome {
    loop {
        let asked = service.surface().handle(method, Some(params), context);
        let Err(fault) = asked.await else {
            return Ok(raw(&json!({})));
        };
        let Some(wait_ms) = retry_after_ms(&fault).filter(|wait| *wait <= FOLLOW_WAIT_MS_MAX)
        else {
            return Err(fault);
        };
        let pause = tokio::time::sleep(Duration::from_millis(wait_ms));
        if context.cancel.run_until_cancelled(pause).await.is_none() {
            return Err(fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_offered_is_honoured() {
        let params = raw(&json!({ "notifications": {
            "toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["a://b"],
        }}));
        let filter = Filter::read(Some(&params)).unwrap();
        let capabilities = json!({ "tools": { "listChanged": true }, "prompts": {} });
        let honoured = filter.clone().honoured(capabilities.as_object().unwrap());
        assert_eq!(honoured.shown(), json!({ "toolsListChanged": true }));
        assert!(honoured.wants(&Change::Tools) && !honoured.wants(&Change::Prompts));
        let all = json!({ "resources": { "subscribe": true } });
        let honoured = filter.honoured(all.as_object().unwrap());
        assert_eq!(
            honoured.shown(),
            json!({ "resourceSubscriptions": ["a://b"] })
        );
        assert!(honoured.wants(&Change::Resource("a://b".into())));
        assert!(!honoured.wants(&Change::Resource("a://c".into())));
    }

    #[test]
    fn wrong_filters_are_refused() {
        for text in [
            "{}",
            r#"{"notifications":7}"#,
            r#"{"notifications":{"toolsListChanged":1}}"#,
        ] {
            let params: Box<RawValue> = serde_json::from_str(text).unwrap();
            assert_eq!(
                Filter::read(Some(&params)).unwrap_err().code,
                rpc::INVALID_PARAMS
            );
        }
        let many = raw(&json!({ "notifications": {
            "resourceSubscriptions": vec!["x"; DOOR_SUBSCRIPTIONS_MAX + 1],
        }}));
        assert!(Filter::read(Some(&many)).is_err());
    }
}
