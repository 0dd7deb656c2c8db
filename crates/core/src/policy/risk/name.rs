//! Reading names: which word of `chat.scheduleMessage` is the verb, and what is its object.
//!
//! The verb may stand first (`delete_message`), last (`TunnelGroupBackendsList`) or after a
//! namespace (`slack_list_channels`). A word that is a verb and a noun (`transfer`, `list`) never
//! makes a name with a plainer verb riskier: `list-transfers` and `transfer_list` both list.

use super::table::{
    CHANGING, Class, GRANTEES, GRANTING, Grade, LANGUAGES, MANNERS, MANY, MESSAGES, MESSAGING,
    NAMESPACES, PREAMBLES, PREPOSITIONS, SENSITIVE, SETTLED, STOPPING, THINGS, TRAILERS, TRANSIENT,
    Verb, Words,
};
use crate::catalog::name::singular;
pub(super) use crate::catalog::name::words;
use crate::policy::Risk;

/// Where in a name its verb stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// First, after what names the HTTP method or the manner.
    Leading,
    /// Last, in a name that does not begin with a verb.
    Trailing,
    /// Somewhere between.
    Inner,
}

/// A name, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// The verb.
    pub(super) verb: Verb,
    /// Where it stands.
    pub(super) place: Place,
    /// How many words stand before it.
    pub(super) before: usize,
    /// Its risk, with its object and manner taken into account.
    pub(super) risk: Risk,
    /// The sensitive object, or the manner, that raised the risk; or what lowered it.
    pub(super) because: Option<String>,
}

/// Reads a name that is already in words; a method in front of them is not a verb of its own,
/// except that `get` says all there is to say.
pub(super) fn read(words: &[String], method: Option<&str>) -> Option<Reading> {
    let mut start = 0;
    let repeats = |m: &str| words.first().is_some_and(|w| w.eq_ignore_ascii_case(m));
    if method.is_some_and(|m| !m.eq_ignore_ascii_case("get") && repeats(m)) {
        start = 1;
    }
    while words.len() > start + 1 && MANNERS.has(&words[start]) {
        start += 1;
    }
    let rest = words.get(start..)?;
    let (at, verb, place) = find_verb(rest)?;
    let object = object(rest, at, place);
    let (risk, because) = weigh(verb, &object, words);
    Some(Reading {
        verb,
        place,
        before: start + at,
        risk,
        because,
    })
}

fn find_verb(words: &[String]) -> Option<(usize, Verb, Place)> {
    let verbs: Vec<(usize, Verb)> = words
        .iter()
        .enumerate()
        .filter_map(|(at, word)| Some((at, Verb::find(word)?)))
        .collect();
    let last = words.len().checked_sub(1)?;
    let place = |at: usize| match at {
        0 => Place::Leading,
        _ if at == last => Place::Trailing,
        _ => Place::Inner,
    };
    if let Some(&(0, verb)) = verbs.first()
        && verb.grade != Grade::Noun
        && !yields(verb, words)
    {
        return Some((0, joined(words, verb), Place::Leading));
    }
    let plain = verbs.iter().find(|(_, v)| v.grade == Grade::Plain);
    let trailing = verbs
        .last()
        .filter(|(at, v)| *at == last && v.grade == Grade::Either);
    let either = verbs.iter().find(|(_, v)| v.grade == Grade::Either);
    // A noun that leads (`charge-authorization`) is the verb when nothing else can be.
    let noun = verbs.iter().find(|(_, v)| v.grade == Grade::Noun);
    let &(at, verb) = plain.or(trailing).or(either).or(noun)?;
    Some((at, verb, place(at)))
}

/// Whether a leading word that reads, and may be a noun, gives way to the name's last word:
/// `poll_expire`.
fn yields(leading: Verb, words: &[String]) -> bool {
    let last = words.last().and_then(|word| Verb::find(word));
    leading.class == Class::Read
        && leading.grade == Grade::Either
        && last.is_some_and(|v| {
            v.class == Class::Destroy && v.grade == Grade::Plain || CHANGING.has(v.word)
        })
}

/// The riskier of the two verbs of `find_and_replace`.
fn joined(words: &[String], verb: Verb) -> Verb {
    let second = words
        .get(1)
        .filter(|word| matches!(word.as_str(), "and" | "or"))
        .and_then(|_| Verb::find(words.get(2)?));
    second.filter(|v| v.class > verb.class).unwrap_or(verb)
}

/// The words that the verb acts on: those after it up to a preposition, or before it when it is
/// last.
fn object(words: &[String], at: usize, place: Place) -> Vec<String> {
    let mut object: Vec<String> = match place {
        Place::Trailing => words[..at].to_vec(),
        _ => words[at + 1..]
            .iter()
            .take_while(|w| !PREPOSITIONS.has(w))
            .cloned()
            .collect(),
    };
    while object
        .last()
        .is_some_and(|w| TRAILERS.has(w) && object.len() > 1)
    {
        object.pop();
    }
    object
}

/// The entry of a list that an object ends with: its last word, or its last two.
pub(super) fn ends_with(object: &[String], entries: Words) -> Option<&'static str> {
    let head = singular(object.last()?);
    let pair = object
        .len()
        .checked_sub(2)
        .map(|at| format!("{} {head}", singular(&object[at])));
    entries
        .find(&head)
        .or_else(|| entries.find(pair.as_deref()?))
}

fn weigh(verb: Verb, object: &[String], words: &[String]) -> (Risk, Option<String>) {
    match verb.class {
        Class::Read if verb.word == "query" && opaque(object, words) => {
            (Risk::High, Some("what it queries is not said".to_owned()))
        }
        Class::Read if verb.word == "resolve" && ends_with(object, SETTLED).is_some() => {
            (Risk::Medium, Some("settles it".to_owned()))
        }
        Class::Read | Class::Probe => (Risk::Low, None),
        Class::Act => (Risk::High, None),
        Class::Destroy => match ends_with(object, TRANSIENT) {
            Some(noun) if STOPPING.has(verb.word) => {
                (Risk::Medium, Some(format!("ends no more than `{noun}`")))
            }
            _ => (Risk::Destructive, None),
        },
        Class::Write => match consequence(verb.word, object, words) {
            Some(because) => (Risk::High, Some(because)),
            None => (Risk::Medium, None),
        },
    }
}

/// Whether a query may be anything: a bare `query`, or one in a language that also writes.
fn opaque(object: &[String], words: &[String]) -> bool {
    words.len() == 1 || object.first().is_some_and(|w| LANGUAGES.has(w)) && object.len() == 1
}

/// What makes a write one with consequences.
pub(super) fn consequence(verb: &str, object: &[String], words: &[String]) -> Option<String> {
    if let Some(noun) = ends_with(object, SENSITIVE) {
        return Some(format!("`{noun}`"));
    }
    if GRANTING.has(verb)
        && let Some(noun) = ends_with(object, GRANTEES)
    {
        return Some(format!("gives a {noun} access"));
    }
    if MESSAGING.has(verb)
        && let Some(noun) = ends_with(object, MESSAGES)
    {
        return Some(format!("`{noun}` reaches people"));
    }
    if words.first().is_some_and(|w| w == "admin") {
        return Some("`admin`".to_owned());
    }
    let modifiers = &words[..words.len().saturating_sub(1)];
    let many = modifiers.iter().find(|w| MANY.has(w))?;
    Some(format!("`{many}` acts on many"))
}

/// Whether these words only say where the verb belongs: to the server itself (`slack_…`, `ha_…` of
/// `home-assistant`), to a version of an API, or to a noun (`transfer_list`, `boards_list`).
pub(super) fn is_namespace(before: &[String], server: &str) -> bool {
    let server = words(server);
    let initials: String = server.iter().filter_map(|w| w.chars().next()).collect();
    let of_things =
        before.iter().any(|w| is_version(w)) || before.last().is_some_and(|w| *w != singular(w));
    before.iter().all(|word| {
        of_things
            || *word == initials
            || server.contains(word)
            || NAMESPACES.has(word)
            || MANNERS.has(word)
            || SENSITIVE.has(&singular(word))
            || MESSAGES.has(&singular(word))
            || THINGS.has(word)
            || Verb::find(word).is_some_and(|v| v.grade == Grade::Noun || v.class <= Class::Probe)
    })
}

fn is_version(word: &str) -> bool {
    word.strip_prefix('v')
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// The riskiest of the verbs that a description begins with: `Create, update or delete issues`.
pub(super) fn read_description(text: &str) -> Option<Verb> {
    let mut found: Option<Verb> = None;
    let mut listing = true;
    for word in behind_label(text).split_whitespace().take(12) {
        let bare = word.trim_matches(|c: char| !c.is_alphabetic());
        let lower = bare.to_ascii_lowercase();
        let verb = Verb::find_inflected(&lower).filter(|v| v.grade != Grade::Noun);
        match (verb, found) {
            _ if bare.is_empty() => {}
            (_, None) if PREAMBLES.has(&lower) => {}
            (Some(verb), None) => found = Some(verb),
            (_, Some(_)) if matches!(lower.as_str(), "or" | "and") => {
                listing = true;
                continue;
            }
            (Some(verb), Some(before)) if listing => {
                found = Some(if verb.class > before.class {
                    verb
                } else {
                    before
                });
            }
            _ => break,
        }
        listing = word.ends_with([',', '/']);
    }
    found
}

/// What follows the label of `Notion | Retrieve a page`.
fn behind_label(text: &str) -> &str {
    match text.split_once('|') {
        Some((label, rest)) if label.split_whitespace().count() <= 3 => rest,
        _ => text,
    }
}
