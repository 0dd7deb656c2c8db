//! How much harm a tool can do, and what says so.
//!
//! The best evidence decides, in this order: configuration, an `x-` extension, MCP annotations, the
//! HTTP method together with the verb, the leading verb of the name, the leading verb of the
//! description; with none of these, [`Risk::High`]. What a server says of itself, its descriptions
//! included, is believed only when the user trusts it: otherwise it can raise the risk, never lower
//! it. The scopes that an API asks for raise what the method and the verb say, and never lower it.

mod name;
mod scopes;
mod table;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::name::{Place, Reading};
use self::scopes::Allowance;
use self::table::{ASKING, Class, Grade, Verb};
use crate::catalog::Tool;

/// What running a tool can do, from harmless to final. The order is the order of harm.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Reads.
    Low,
    /// Ordinary writes.
    Medium,
    /// Moves money, changes permissions, messages people, acts on many; or nothing is known.
    High,
    /// Deletes or ends something for good.
    Destructive,
}

impl Risk {
    /// All levels, rising.
    pub const ALL: [Risk; 4] = [Risk::Low, Risk::Medium, Risk::High, Risk::Destructive];

    /// The risk of a tool by all that it says, where its server is not trusted and nothing is
    /// configured.
    pub fn of_unbelieved(tool: &Tool) -> Self {
        derive(&Inputs::of(tool, false, None)).0
    }

    /// The level as callers see it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Risk::Low => "low",
            Risk::Medium => "medium",
            Risk::High => "high",
            Risk::Destructive => "destructive",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|risk| text.eq_ignore_ascii_case(risk.as_str()))
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// All that may speak about a tool's risk. Empty texts, `None` and `Null` say nothing.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// What an override of the configuration says.
    pub configured: Option<Risk>,
    /// The server's name; a name that begins with it is read after it.
    pub server: &'a str,
    /// The tool's name or operation id.
    pub name: &'a str,
    /// The description or summary.
    pub description: &'a str,
    /// HTTP method.
    pub method: Option<&'a str>,
    /// HTTP path template.
    pub path: Option<&'a str>,
    /// `x-` fields of the operation.
    pub extensions: &'a Value,
    /// The scopes that the API asks for, by way to authenticate.
    pub scopes: &'a [Vec<String>],
    /// MCP annotations.
    pub annotations: &'a Value,
    /// Whether the user trusts what the server says of itself.
    pub trusted: bool,
}

impl<'a> Inputs<'a> {
    /// What a tool itself says.
    pub fn of(tool: &'a Tool, trusted: bool, configured: Option<Risk>) -> Self {
        Self {
            configured,
            server: tool.id.server(),
            name: tool.id.tool(),
            description: &tool.description,
            method: tool.method.as_deref(),
            path: tool.path.as_deref(),
            extensions: &tool.extensions,
            scopes: &tool.scopes,
            annotations: &tool.annotations,
            trusted,
        }
    }
}

/// Where a finding comes from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// An override of the configuration.
    Configuration,
    /// An `x-` field of the API description.
    Extension,
    /// MCP annotations.
    Annotations,
    /// The scopes that the API asks for; they only raise.
    Scope,
    /// The HTTP method, read together with the verb.
    Method,
    /// The verb of the name or of the path.
    Verb,
    /// The verb that the description begins with; without trust only one that makes it worse.
    Description,
    /// Nothing is known.
    Nothing,
}

/// One thing that speaks about the risk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Where it comes from.
    pub source: Source,
    /// What it says.
    pub risk: Risk,
    /// In words, such as ``verb `delete` ``.
    pub detail: String,
}

/// Everything that spoke about a tool's risk, and what decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// What decided.
    pub decided_by: Source,
    /// All findings, best source first; never empty.
    pub findings: Vec<Finding>,
}

impl Evidence {
    /// Whether anything at all is known about the tool.
    pub fn any(&self) -> bool {
        self.findings.iter().any(|f| f.source != Source::Nothing)
    }

    /// Puts a finding before all others and lets it decide.
    pub(super) fn prefer(&mut self, source: Source, risk: Risk, detail: &str) {
        self.findings.insert(0, finding(source, risk, detail));
        self.decided_by = source;
    }

    /// The words of the finding that decided.
    pub fn detail(&self) -> &str {
        let decisive = self.findings.iter().find(|f| f.source == self.decided_by);
        decisive.map_or("", |f| &f.detail)
    }
}

/// The risk of a tool and the evidence for it.
pub fn derive(inputs: &Inputs<'_>) -> (Risk, Evidence) {
    let mut findings = Vec::with_capacity(3);
    if let Some(risk) = inputs.configured {
        findings.push(finding(Source::Configuration, risk, "set by an override"));
    }
    findings.extend(extension(inputs.extensions));
    let annotated = annotations(inputs.annotations);
    findings.extend(annotated.clone());
    let observed = observed(inputs);
    findings.extend(scoped(inputs, observed.as_ref()));
    findings.extend(observed);
    let hint = |f: &Finding| matches!(f.source, Source::Annotations | Source::Scope);
    if findings.iter().all(hint) {
        findings.push(finding(
            Source::Nothing,
            Risk::High,
            "its name does not say what it does",
        ));
    }
    let (risk, decided_by) = weigh(&findings, inputs.trusted);
    let evidence = Evidence {
        decided_by,
        findings,
    };
    (risk, evidence)
}

/// Takes the best finding; what an untrusted server says of itself, and what scopes say, only ever
/// raises the next one.
fn weigh(findings: &[Finding], trusted: bool) -> (Risk, Source) {
    let mut claims = findings.iter();
    let Some(first) = claims.next() else {
        return (Risk::High, Source::Nothing);
    };
    match (first.source, claims.next()) {
        (Source::Scope, Some(next)) if next.risk >= first.risk => (next.risk, next.source),
        (Source::Annotations, Some(next)) if !trusted && next.risk >= first.risk => {
            (next.risk, next.source)
        }
        // A trusted server that calls a write harmless to what is there does not make moving money
        // an ordinary write.
        (Source::Annotations, Some(next))
            if first.risk == Risk::Medium
                && next.risk == Risk::High
                && next.source != Source::Nothing =>
        {
            (next.risk, next.source)
        }
        _ => (first.risk, first.source),
    }
}

fn finding(source: Source, risk: Risk, detail: impl Into<String>) -> Finding {
    Finding {
        source,
        risk,
        detail: detail.into(),
    }
}

/// The fields of an API description in which its author may state a risk.
const EXTENSION_FIELDS: [&str; 3] = ["x-toolcrib-risk", "x-risk-level", "x-risk"];

fn extension(extensions: &Value) -> Option<Finding> {
    EXTENSION_FIELDS.iter().find_map(|field| {
        let risk = Risk::parse(extensions.get(field)?.as_str()?)?;
        Some(finding(Source::Extension, risk, format!("{field}: {risk}")))
    })
}

/// Reads the hints as the protocol has them: the other two mean something only for tools that are
/// not read-only.
fn annotations(annotations: &Value) -> Option<Finding> {
    let hint = |name: &str| annotations.get(name).and_then(Value::as_bool);
    let (risk, detail) = match (hint("readOnlyHint"), hint("destructiveHint")) {
        (Some(true), _) => (Risk::Low, "readOnlyHint: true"),
        (_, Some(true)) => (Risk::Destructive, "destructiveHint: true"),
        (_, Some(false)) => (Risk::Medium, "destructiveHint: false"),
        (Some(false), None) => (Risk::Medium, "readOnlyHint: false"),
        (None, None) => return None,
    };
    Some(finding(Source::Annotations, risk, detail))
}

/// What the scopes of an operation add to what is otherwise known about it.
fn scoped(inputs: &Inputs<'_>, observed: Option<&Finding>) -> Option<Finding> {
    let (allowance, scope) = scopes::read(inputs.scopes)?;
    let reads = observed.is_some_and(|f| f.risk == Risk::Low);
    let asked = reads && !inputs.method.is_some_and(is_safe);
    let named = name::read(&name::words(inputs.name), inputs.method);
    let plain = named.is_some_and(|r| r.verb.class <= Class::Probe);
    let risk = match allowance {
        Allowance::Read => Risk::Low,
        // Where a question is posted, the scope says at most that it is also written down.
        _ if asked => Risk::Medium,
        // Much is shown to administrators only, and one scope often serves reads and writes.
        Allowance::Administer if reads => return None,
        _ if reads && plain => return None,
        Allowance::Write => Risk::Medium,
        Allowance::Administer => Risk::High,
        Allowance::Delete => Risk::Destructive,
    };
    Some(finding(Source::Scope, risk, format!("scope `{scope}`")))
}

/// Whether a method is one that reads.
pub(super) fn is_safe(method: &str) -> bool {
    let safe = ["GET", "HEAD", "OPTIONS", "QUERY", "TRACE"];
    safe.iter().any(|s| s.eq_ignore_ascii_case(method))
}

/// What method, name, path and description show.
fn observed(inputs: &Inputs<'_>) -> Option<Finding> {
    let words = name::words(inputs.name);
    let named = name::read(&words, inputs.method);
    if let Some(method) = inputs.method {
        return by_method(method, named.as_ref(), inputs.path, &words);
    }
    by_verb(named, &words, inputs)
}

fn by_verb(named: Option<Reading>, words: &[String], inputs: &Inputs<'_>) -> Option<Finding> {
    let described = name::read_description(inputs.description);
    let describes_read = described.is_some_and(|verb| verb.class <= Class::Probe);
    // A read hidden behind other words needs a second witness; a write that may be a noun gives
    // way to one. What a server writes about itself is a witness only where the user trusts it.
    let witness = describes_read && inputs.trusted;
    let named = named.filter(|reading| {
        if reading.verb.class <= Class::Probe {
            plainly_reads(reading, words, inputs.server)
                || witness
                || reading.verb.grade == Grade::Plain && (described.is_none() || describes_read)
        } else {
            !witness || firm(reading)
        }
    });
    let told = described.map(told_by);
    let Some(reading) = named else {
        return told.filter(|told| inputs.trusted || told.risk > Risk::High);
    };
    let spoken = finding(Source::Verb, reading.risk, spoken(&reading));
    let noun = reading.verb.grade == Grade::Noun;
    told.filter(|told| noun && told.risk > spoken.risk)
        .or(Some(spoken))
}

/// Whether a verb that reads is the verb of its name without a doubt.
fn plainly_reads(reading: &Reading, words: &[String], server: &str) -> bool {
    reading.place == Place::Leading
        || reading.risk > Risk::Low
        || reading.verb.word == "search"
        || name::is_namespace(&words[..reading.before], server)
}

fn told_by(verb: Verb) -> Finding {
    let risk = match verb.class {
        Class::Read | Class::Probe => Risk::Low,
        Class::Write => Risk::Medium,
        Class::Act => Risk::High,
        Class::Destroy => Risk::Destructive,
    };
    let detail = format!("the description begins with `{}`", verb.word);
    finding(Source::Description, risk, detail)
}

/// Whether a verb can hardly be a noun where it stands.
fn firm(reading: &Reading) -> bool {
    match reading.verb.grade {
        Grade::Plain => true,
        Grade::Either => reading.place == Place::Leading,
        Grade::Noun => false,
    }
}

fn spoken(reading: &Reading) -> String {
    match &reading.because {
        Some(because) => format!("verb `{}`, {because}", reading.verb.word),
        None => format!("verb `{}`", reading.verb.word),
    }
}

fn by_method(
    method: &str,
    named: Option<&Reading>,
    path: Option<&str>,
    words: &[String],
) -> Option<Finding> {
    let method = method.to_ascii_uppercase();
    let (last, resource) = path.map(path_words).unwrap_or_default();
    let pathed = name::read(&last, None).filter(|r| firm(r) || names_act(r, &last));
    let named = named.filter(|r| r.verb.grade != Grade::Noun);
    // Where the name hides a read behind a namespace and the path says the same, the path is
    // plainer.
    let reading = match (named, pathed.as_ref()) {
        (Some(name), Some(path)) if name.verb.class == Class::Read && name.verb == path.verb => {
            Some(path)
        }
        (name, path) => name.or(path),
    };
    let (risk, because) = match method.as_str() {
        "DELETE" => (Risk::Destructive, None),
        safe if is_safe(safe) => {
            let acted = || pathed.as_ref().filter(|r| acts(r, path, words));
            match reading.filter(|r| outspoken(r)).or_else(acted) {
                Some(reading) => (reading.risk, Some(spoken(reading))),
                None => (Risk::Low, None),
            }
        }
        "POST" => match reading.filter(|r| asks(r, path.is_some())) {
            Some(reading) => (reading.risk, Some(spoken(reading))),
            None => written(reading, &resource, words, "post"),
        },
        "PUT" | "PATCH" => written(reading, &resource, words, "update"),
        // What a method of its own does is not known, unless it or the name says the worst.
        own => {
            let called = name::read(&[own.to_ascii_lowercase()], None);
            let worst = [named, pathed.as_ref(), called.as_ref()]
                .into_iter()
                .flatten();
            let worst = worst
                .max_by_key(|r| r.risk)
                .filter(|r| r.risk >= Risk::High)?;
            (worst.risk, Some(spoken(worst)))
        }
    };
    let detail = match because {
        Some(because) => format!("{method}, {because}"),
        None => method,
    };
    Some(finding(Source::Method, risk, detail))
}

/// Whether the last part of a path is an act although its verb may be a noun: `/{id}/refund`, not
/// `/transfers`.
fn names_act(reading: &Reading, last: &[String]) -> bool {
    reading.place == Place::Leading && last.last().is_some_and(|word| !word.ends_with('s'))
}

/// Whether the path of a reading method ends with an act, and the name, which only repeats method
/// and path, does not say otherwise: `GET /instances/{id}/terminate` without an operation id.
fn acts(pathed: &Reading, path: Option<&str>, words: &[String]) -> bool {
    let path = path.unwrap_or("");
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let Some(at) = parts.iter().rposition(|part| !is_parameter(part)) else {
        return false;
    };
    let alone = name::words(parts[at]).len() == 1;
    let on_one = at + 1 < parts.len() || at > 0 && is_parameter(parts[at - 1]);
    let spelt = name::words(path);
    let named = words.strip_prefix(["get".to_owned()].as_slice());
    let repeats = named.is_some_and(|rest| rest.iter().all(|word| spelt.contains(word)));
    let act = match pathed.verb.class {
        Class::Read | Class::Probe => false,
        // A thing may be named like an act: `/settings/click`.
        Class::Write | Class::Act => on_one,
        Class::Destroy => true,
    };
    act && alone && repeats && pathed.verb.grade == Grade::Plain
}

fn is_parameter(part: &str) -> bool {
    part.starts_with(['{', ':', '@'])
}

/// Whether a POST only asks: many reads are sent that way because their question is long.
fn asks(reading: &Reading, has_path: bool) -> bool {
    // What is marked as read is written.
    reading.verb.class == Class::Read
        && reading.verb.word != "read"
        && (reading.place == Place::Leading || !has_path && ASKING.has(reading.verb.word))
}

/// Whether a verb contradicts a reading method: only one that cannot be a noun and leads, or that
/// stands alone at the end (`dialog.open`).
fn outspoken(reading: &Reading) -> bool {
    reading.verb.class > Class::Probe
        && match reading.place {
            Place::Leading => reading.verb.grade == Grade::Plain,
            // What is shown may be the trash, or empty.
            Place::Trailing if reading.verb.class == Class::Destroy => {
                reading.verb.grade == Grade::Plain
            }
            Place::Trailing => reading.verb.grade != Grade::Noun,
            Place::Inner => false,
        }
}

/// What a writing method does: what its verb says, or else what it is done to.
fn written(
    reading: Option<&Reading>,
    resource: &[String],
    words: &[String],
    implied: &str,
) -> (Risk, Option<String>) {
    if let Some(reading) = reading
        && (reading.verb.class > Class::Write || reading.risk > Risk::Medium)
    {
        return (reading.risk, Some(spoken(reading)));
    }
    let verb = reading.map_or(implied, |r| r.verb.word);
    let by_name = || name::consequence(verb, words, words).filter(|_| reading.is_none());
    match name::consequence(verb, resource, words).or_else(by_name) {
        Some(because) => (Risk::High, Some(because)),
        None => (Risk::Medium, reading.map(spoken)),
    }
}

/// The last part of a path that is neither a parameter nor empty, and the resource it belongs to:
/// the part before it where it is itself a verb (`/refunds/{id}/cancel`).
fn path_words(path: &str) -> (Vec<String>, Vec<String>) {
    let bare = path.split(['?', '#']).next().unwrap_or(path);
    let mut parts = bare
        .split('/')
        .rev()
        .filter(|part| !part.is_empty() && !is_parameter(part))
        .map(name::words);
    let last = parts.next().unwrap_or_default();
    let resource = match name::read(&last, None) {
        Some(reading) if reading.place == Place::Leading => parts.next().unwrap_or_default(),
        _ => last.clone(),
    };
    (last, resource)
}

#[cfg(test)]
mod tests;
