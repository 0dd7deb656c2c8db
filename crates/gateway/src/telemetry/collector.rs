//! Where spans are sent, as the configuration and the variables of OpenTelemetry say.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use toolcrib_config::model::settings::Telemetry;
use toolcrib_core::limits::{TRACE_BATCH_MS_MAX, TRACE_PAIRS_MAX, TRACE_SEND_MS_MAX};
use toolcrib_core::secret::Secret;
use url::Url;

use super::sampler::Sampler;
use crate::veil;

/// The path at which collectors take traces.
const PATH: &str = "v1/traces";

/// A collector of traces, and what it is told of this process.
#[derive(Clone, Debug)]
pub struct Collector {
    /// Where traces are posted.
    pub url: Url,
    /// What every delivery carries.
    pub headers: HeaderMap,
    /// What this process is.
    pub resource: Vec<(String, String)>,
    /// Which traces are recorded.
    pub sampler: Sampler,
    /// How long one delivery may take.
    pub timeout: Duration,
    /// How long a span may wait for others.
    pub delay: Duration,
}

/// What the settings come to.
#[derive(Debug, Default)]
pub struct Found {
    /// The collector, where traces are wanted.
    pub collector: Option<Collector>,
    /// What is not understood, each in one sentence.
    pub complaints: Vec<String>,
}

impl Found {
    /// What the settings and variables say. A variable holds before a setting; what is empty is not
    /// set. `instance` names this process among its like.
    pub fn of(settings: &Telemetry, var: &dyn Fn(&str) -> Option<String>, instance: &str) -> Self {
        let variables = Variables { var };
        let mut complaints = Vec::new();
        let collector = collector(settings, &variables, instance, &mut complaints);
        let collector = collector.unwrap_or_else(|why| {
            complaints.push(format!("Traces are not sent: {why}"));
            None
        });
        Self {
            collector,
            complaints,
        }
    }
}

/// The variables of the environment.
struct Variables<'a> {
    var: &'a dyn Fn(&str) -> Option<String>,
}

impl Variables<'_> {
    fn get(&self, name: &str) -> Option<String> {
        let value = (self.var)(name)?.trim().to_owned();
        (!value.is_empty()).then_some(value)
    }

    /// A variable of traces, or else that of everything that is sent.
    fn of_traces(&self, rest: &str) -> Option<(String, String)> {
        ["OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"]
            .iter()
            .map(|prefix| format!("{prefix}{rest}"))
            .find_map(|name| self.get(&name).map(|value| (name, value)))
    }
}

/// A number of milliseconds; what is none is complained of.
fn millis(found: Option<(String, String)>, complaints: &mut Vec<String>) -> Option<u64> {
    let (name, value) = found?;
    let read = value.parse().ok().filter(|ms| *ms > 0);
    if read.is_none() {
        complaints.push(format!("{name} must be a number of milliseconds."));
    }
    read
}

fn collector(
    settings: &Telemetry,
    variables: &Variables<'_>,
    instance: &str,
    complaints: &mut Vec<String>,
) -> Result<Option<Collector>, String> {
    let is_true = |value: String| value.eq_ignore_ascii_case("true");
    if variables.get("OTEL_SDK_DISABLED").is_some_and(is_true) {
        return Ok(None);
    }
    match variables.get("OTEL_TRACES_EXPORTER").as_deref() {
        None | Some("otlp") => {}
        Some("none") => return Ok(None),
        Some(_) => return Err("OTEL_TRACES_EXPORTER must be otlp or none.".to_owned()),
    }
    let Some(url) = address(settings, variables)? else {
        return Ok(None);
    };
    if let Some((name, value)) = variables.of_traces("PROTOCOL")
        && !value.starts_with("http/")
    {
        return Err(format!(
            "{name} asks for a protocol that is not spoken here; set it to http/json, and the endpoint to the collector's HTTP port (4318)."
        ));
    }
    let timeout = variables.of_traces("TIMEOUT");
    let timeout = millis(timeout, complaints);
    let delay = "OTEL_BSP_SCHEDULE_DELAY";
    let delay = variables.get(delay).map(|value| (delay.to_owned(), value));
    let delay = millis(delay, complaints);
    Ok(Some(Collector {
        url,
        headers: headers(settings, variables)?,
        resource: resource(settings, variables, instance, complaints),
        sampler: sampler(settings, variables, complaints),
        timeout: Duration::from_millis(timeout.unwrap_or(TRACE_SEND_MS_MAX).min(TRACE_SEND_MS_MAX)),
        delay: Duration::from_millis(delay.unwrap_or(TRACE_BATCH_MS_MAX).min(TRACE_BATCH_MS_MAX)),
    }))
}

/// Where traces are posted: the address of traces as it is, that of everything with the path added.
fn address(settings: &Telemetry, variables: &Variables<'_>) -> Result<Option<Url>, String> {
    let whole = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
    let base = "OTEL_EXPORTER_OTLP_ENDPOINT";
    if let Some(text) = variables.get(whole) {
        return parsed(&text, whole).map(Some);
    }
    if let Some(text) = variables.get(base) {
        return Ok(Some(with_path(parsed(&text, base)?)));
    }
    let Some(template) = &settings.otlp_endpoint else {
        return Ok(None);
    };
    let name = "telemetry.otlpEndpoint";
    let text = template
        .expand(&|name| variables.get(name))
        .map_err(|unset| format!("{name}: {unset}."))?;
    if text.expose().trim().is_empty() {
        return Ok(None);
    }
    Ok(Some(with_path(parsed(text.expose(), name)?)))
}

fn parsed(text: &str, name: &str) -> Result<Url, String> {
    // The text is not repeated: a password may stand in it.
    let url = Url::parse(text.trim()).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let url = url.ok_or_else(|| {
        format!("{name} must be an address such as http://127.0.0.1:4318 (OTLP over HTTP).")
    })?;
    if let Some(password) = url.password() {
        veil::keep(&Secret::new(password));
    }
    Ok(url)
}

fn with_path(mut url: Url) -> Url {
    let path = url.path().trim_end_matches('/');
    if !path.ends_with(PATH) {
        let path = format!("{path}/{PATH}");
        url.set_path(&path);
    }
    url
}

fn headers(settings: &Telemetry, variables: &Variables<'_>) -> Result<HeaderMap, String> {
    let mut all = Vec::new();
    for (name, template) in &settings.headers {
        let value = template.0.expand(&|name| variables.get(name));
        let value = value.map_err(|unset| format!("telemetry.headers.{name}: {unset}."))?;
        all.push((name.clone(), value));
    }
    if let Some((_, list)) = variables.of_traces("HEADERS") {
        let given = pairs(&list).into_iter();
        all.extend(given.map(|(name, value)| (name, Secret::new(value))));
    }
    let mut headers = HeaderMap::new();
    for (name, secret) in all.into_iter().take(TRACE_PAIRS_MAX) {
        veil::keep(&secret);
        let read = HeaderName::from_bytes(name.as_bytes()).ok();
        let value = HeaderValue::from_str(secret.expose()).ok();
        let (Some(name), Some(mut value)) = (read, value) else {
            return Err("one of the headers for the collector is not legal.".to_owned());
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn resource(
    settings: &Telemetry,
    variables: &Variables<'_>,
    instance: &str,
    complaints: &mut Vec<String>,
) -> Vec<(String, String)> {
    let mut all = vec![
        ("service.name".to_owned(), "toolcrib".to_owned()),
        (
            "service.version".to_owned(),
            env!("CARGO_PKG_VERSION").to_owned(),
        ),
        ("service.instance.id".to_owned(), instance.to_owned()),
        ("telemetry.sdk.name".to_owned(), "toolcrib".to_owned()),
        ("telemetry.sdk.language".to_owned(), "rust".to_owned()),
        (
            "telemetry.sdk.version".to_owned(),
            env!("CARGO_PKG_VERSION").to_owned(),
        ),
    ];
    let mut set = |name: &str, value: String| {
        let place = all.iter().position(|(known, _)| known == name);
        match place {
            Some(place) => all[place].1 = value,
            None if all.len() < TRACE_PAIRS_MAX => all.push((name.to_owned(), value)),
            None => {}
        }
    };
    if let Some(name) = &settings.service_name {
        set("service.name", name.clone());
    }
    if let Some(list) = variables.get("OTEL_RESOURCE_ATTRIBUTES") {
        let given = pairs(&list);
        if given.is_empty() {
            let wrong = "OTEL_RESOURCE_ATTRIBUTES must be a list such as team=a,region=b.";
            complaints.push(wrong.to_owned());
        }
        for (name, value) in given {
            set(&name, veil::cover(&value));
        }
    }
    if let Some(name) = variables.get("OTEL_SERVICE_NAME") {
        set("service.name", name);
    }
    all
}

fn sampler(
    settings: &Telemetry,
    variables: &Variables<'_>,
    complaints: &mut Vec<String>,
) -> Sampler {
    let usual = Sampler {
        ratio: settings.sample_ratio.unwrap_or(1.0).clamp(0.0, 1.0),
        follows_parent: true,
    };
    let Some(name) = variables.get("OTEL_TRACES_SAMPLER") else {
        return usual;
    };
    let argument = variables.get("OTEL_TRACES_SAMPLER_ARG");
    let ratio = argument.as_deref().map_or(Ok(1.0), str::parse::<f64>);
    let ratio = ratio.ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    if ratio.is_none() && name.ends_with("traceidratio") {
        complaints.push("OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1.".to_owned());
    }
    Sampler::named(&name, ratio.unwrap_or(1.0)).unwrap_or_else(|| {
        complaints.push(
            "OTEL_TRACES_SAMPLER must be always_on, always_off or traceidratio, or one of these after parentbased_."
                .to_owned(),
        );
        usual
    })
}

/// A list such as `a=1,b=2`, where values may be percent-encoded.
fn pairs(list: &str) -> Vec<(String, String)> {
    let pairs = list.split(',').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8_lossy();
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), value.into_owned()))
    });
    pairs.take(TRACE_PAIRS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(settings: serde_json::Value, variables: &[(&str, &str)]) -> Found {
        let settings: Telemetry = serde_json::from_value(settings).unwrap();
        let var = |name: &str| {
            let known = variables.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| (*value).to_owned())
        };
        Found::of(&settings, &var, "one")
    }

    #[test]
    fn nothing_is_sent_unless_it_is_asked_for() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        for variables in [
            &[][..],
            &[("OTEL_SERVICE_NAME", "x")],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
            &[endpoint, ("OTEL_SDK_DISABLED", "TRUE")],
            &[endpoint, ("OTEL_TRACES_EXPORTER", "none")],
        ] {
            let found = found(json!({}), variables);
            assert!(found.collector.is_none(), "{variables:?}");
            assert!(found.complaints.is_empty(), "{variables:?}");
        }
    }

    #[test]
    fn the_address_comes_from_a_variable_or_the_configuration() {
        let check = |settings: serde_json::Value, variables: &[(&str, &str)], expected: &str| {
            let found = found(settings, variables);
            assert!(found.complaints.is_empty(), "{:?}", found.complaints);
            assert_eq!(found.collector.unwrap().url.as_str(), expected);
        };
        let (base, whole) = (
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        );
        check(
            json!({}),
            &[(base, "http://c:4318")],
            "http://c:4318/v1/traces",
        );
        check(
            json!({}),
            &[(base, "http://c/otlp/")],
            "http://c/otlp/v1/traces",
        );
        check(
            json!({}),
            &[(whole, "http://c/x"), (base, "http://d")],
            "http://c/x",
        );
        let own = json!({ "otlpEndpoint": "http://${HOST}:1" });
        check(own.clone(), &[("HOST", "h")], "http://h:1/v1/traces");
        check(
            own,
            &[("HOST", "h"), (base, "http://d")],
            "http://d/v1/traces",
        );
        let full = json!({ "otlpEndpoint": "https://c/v1/traces" });
        check(full, &[], "https://c/v1/traces");
    }

    #[test]
    fn what_cannot_be_used_says_so_without_repeating_it() {
        let check = |settings: serde_json::Value, variables: &[(&str, &str)], expected: &str| {
            let found = found(settings, variables);
            assert!(found.collector.is_none());
            let [complaint] = &found.complaints[..] else {
                panic!("{:?}", found.complaints)
            };
            assert!(complaint.contains(expected), "{complaint}");
            assert!(!complaint.contains("hush"), "{complaint}");
        };
        let base = "OTEL_EXPORTER_OTLP_ENDPOINT";
        check(json!({}), &[(base, "hush:4318")], base);
        check(json!({}), &[(base, "/hush")], base);
        check(json!({ "otlpEndpoint": "${NONE}/hush" }), &[], "NONE");
        let fine = (base, "http://c");
        check(
            json!({}),
            &[fine, ("OTEL_TRACES_EXPORTER", "hush")],
            "otlp or none",
        );
        check(
            json!({}),
            &[fine, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
            "http/json",
        );
        check(
            json!({}),
            &[fine, ("OTEL_EXPORTER_OTLP_HEADERS", "a b=hush")],
            "headers",
        );
    }

    #[test]
    fn headers_name_sampler_and_times_are_as_the_variables_say() {
        let settings = json!({
            "otlpEndpoint": "http://c", "serviceName": "gate", "sampleRatio": 0.25,
            "headers": { "X-One": "${KEY}", "x-two": "2" },
        });
        let plain = found(settings.clone(), &[("KEY", "k")]).collector.unwrap();
        assert_eq!(plain.headers["x-one"], "k");
        assert!(plain.headers["x-one"].is_sensitive());
        assert_eq!(plain.resource[0].1, "gate");
        assert_eq!(plain.sampler.ratio.to_string(), "0.25");
        assert_eq!(plain.delay, Duration::from_secs(5));
        let variables = [
            ("KEY", "k"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-two=a%20b, x-three = 3"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,team=a"),
            ("OTEL_SERVICE_NAME", "mine"),
            ("OTEL_TRACES_SAMPLER", "traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.5"),
            ("OTEL_BSP_SCHEDULE_DELAY", "20"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "99999999"),
        ];
        let told = found(settings.clone(), &variables);
        assert!(told.complaints.is_empty(), "{:?}", told.complaints);
        let told = told.collector.unwrap();
        assert_eq!(
            (&told.headers["x-two"], &told.headers["x-three"]),
            (
                &HeaderValue::from_static("a b"),
                &HeaderValue::from_static("3")
            )
        );
        assert_eq!(told.resource[0].1, "mine");
        assert_eq!(
            told.resource.last().unwrap(),
            &("team".to_owned(), "a".to_owned())
        );
        assert_eq!(
            told.sampler,
            Sampler {
                ratio: 0.5,
                follows_parent: false
            }
        );
        assert_eq!(told.delay, Duration::from_millis(20));
        assert_eq!(told.timeout, Duration::from_millis(TRACE_SEND_MS_MAX));
        let wrong = [
            ("KEY", "k"),
            ("OTEL_RESOURCE_ATTRIBUTES", "nothing"),
            ("OTEL_TRACES_SAMPLER", "traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "2"),
            ("OTEL_BSP_SCHEDULE_DELAY", "soon"),
        ];
        assert_eq!(found(settings.clone(), &wrong).complaints.len(), 3);
        let unknown = [("KEY", "k"), ("OTEL_TRACES_SAMPLER", "some")];
        let unknown = found(settings, &unknown);
        assert_eq!(unknown.complaints.len(), 1);
        assert_eq!(unknown.collector.unwrap().sampler.ratio.to_string(), "0.25");
    }
}
