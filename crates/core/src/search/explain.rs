//! Why a tool was found, in words. Built from what matched; nothing is invented.

use super::field::Field;
use super::hits::Ranked;
use super::index::Index;
use super::model::Model;
use super::part::short;
use super::query::Query;
use super::signals::{SIGNAL_NAMES, Signals};

/// The signal of values in the query that parameters of the tool take.
const VALUES_TAKEN: &str = "values_taken";

/// Signals that stand for something a person can check, and how to say it.
const SAYINGS: [(&str, &str); 10] = [
    ("mention", "the query spells its name"),
    ("name_complete", "every word of its name is asked for"),
    (
        "pairs_name",
        "neighbouring words of the query are neighbours in its name",
    ),
    (
        "pairs_text",
        "neighbouring words of the query are neighbours in its description",
    ),
    (
        "action_same",
        "it does the kind of action that is asked for",
    ),
    ("server_named", "the query names its server"),
    (VALUES_TAKEN, "its parameters take the values in the query"),
    ("server_cover", "its server's tools speak to the query"),
    ("likeness", "its description is about the same things"),
    (
        "wish_likeness",
        "its description is about one of the wishes",
    ),
];

/// Least value of a signal that is worth a sentence.
const SAID_FROM: f32 = 0.3;

/// The reasons, the strongest first.
pub(crate) fn reasons(
    index: &Index,
    query: &Query,
    ranked: &Ranked,
    signals: &Signals,
) -> Vec<String> {
    let mut out = Vec::new();
    if ranked.exact {
        out.push("the query is its name".to_owned());
    }
    if ranked.lift > 0.0 {
        out.push("you ran it after a like query before".to_owned());
    }
    out.extend(words(index, query, ranked.number));
    let shares = Model::shared().contributions(signals);
    let mut said: Vec<(f32, &str)> = Vec::new();
    for (signal, saying) in SAYINGS {
        // Without a value in the query the signal stands halfway, so that it counts for no tool and against none.
        if signal == VALUES_TAKEN && query.kinds == 0 {
            continue;
        }
        let at = SIGNAL_NAMES.iter().position(|name| *name == signal);
        if let Some(at) = at.filter(|at| signals[*at] >= SAID_FROM && shares[*at] > 0.0) {
            said.push((shares[at], saying));
        }
    }
    said.sort_by(|a, b| b.0.total_cmp(&a.0));
    out.extend(said.into_iter().map(|(_, saying)| saying.to_owned()));
    out
}

/// One sentence per word of the query that the tool holds.
fn words(index: &Index, query: &Query, number: u32) -> Vec<String> {
    let Some(entry) = index.entry(number) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for term in &query.terms {
        let best = term
            .variants
            .iter()
            .find_map(|(id, _)| Some((*id, entry.held.get(short(*id))?)));
        let Some((id, held)) = best else {
            continue;
        };
        let places: Vec<&str> = Field::ALL
            .into_iter()
            .filter(|field| held.fields & field.bit() != 0)
            .map(Field::label)
            .collect();
        let stand_in = match index.vocabulary.get(id).filter(|_| id != term.word.id) {
            Some(word) => format!(" (as \"{}…\")", word.text),
            None => String::new(),
        };
        out.push(format!(
            "\"{}\"{stand_in} in its {}",
            term.word.folded,
            places.join(", ")
        ));
    }
    out
}
