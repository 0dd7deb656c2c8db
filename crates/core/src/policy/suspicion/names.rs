//! Names that look like others, are the same as others, or speak about others.

use std::collections::{HashMap, HashSet};

use unicode_normalization::UnicodeNormalization;

use super::{Flag, Kind};
use crate::catalog::ToolId;
use crate::nearest::fold;

/// The names of a catalog, to compare one with.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    /// Servers that have a tool of this folded name, with its exact ids.
    by_name: HashMap<String, Vec<ToolId>>,
    /// Tools whose names look like this.
    by_look: HashMap<String, Vec<ToolId>>,
    /// Tools by their exact names, for mentions.
    by_exact: HashMap<String, Vec<ToolId>>,
    servers: HashSet<String>,
}

impl Neighbours {
    /// The names of all tools of a catalog; the one that is inspected may be among them.
    pub fn new<'a>(ids: impl IntoIterator<Item = &'a ToolId>) -> Self {
        let mut all = Self::default();
        for id in ids {
            let name = id.tool();
            let mut put = |map: fn(&mut Self) -> &mut HashMap<String, Vec<ToolId>>, key: String| {
                map(&mut all).entry(key).or_default().push(id.clone());
            };
            put(|all| &mut all.by_name, fold(name));
            put(|all| &mut all.by_look, look(name));
            put(|all| &mut all.by_exact, name.to_owned());
            all.servers.insert(id.server().to_owned());
        }
        all
    }
}

/// A letter as the one it is mistaken for.
pub(super) fn plain_letter(c: char) -> char {
    match c {
        'а' | 'α' | 'ɑ' | 'А' | 'Α' => 'a',
        'в' | 'В' | 'Β' => 'b',
        'с' | 'ϲ' | 'С' => 'c',
        'ԁ' | 'ɗ' => 'd',
        'е' | 'ε' | 'ҽ' | 'Е' | 'Ε' => 'e',
        'ɡ' | 'ց' => 'g',
        'һ' | 'հ' | 'Н' | 'Η' | 'н' => 'h',
        'і' | 'ι' | 'ı' | 'І' | 'Ι' => 'i',
        'ј' | 'Ј' => 'j',
        'κ' | 'к' | 'К' | 'Κ' => 'k',
        'ⅼ' | 'ӏ' | 'Ӏ' => 'l',
        'м' | 'М' | 'Μ' => 'm',
        'ո' | 'η' | 'Ν' => 'n',
        'о' | 'ο' | 'օ' | 'О' | 'Ο' => 'o',
        'р' | 'ρ' | 'Р' | 'Ρ' => 'p',
        'ԛ' => 'q',
        'г' => 'r',
        'ѕ' | 'Ѕ' => 's',
        'т' | 'τ' | 'Т' | 'Τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' | 'ω' => 'w',
        'х' | 'χ' | 'Х' | 'Χ' => 'x',
        'у' | 'ү' | 'У' | 'Υ' => 'y',
        other => other,
    }
}

/// What a name looks like: names that look alike have the same.
fn look(name: &str) -> String {
    name.nfkc()
        .map(plain_letter)
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            '0' => 'o',
            '1' | 'i' => 'l',
            '5' => 's',
            other => other,
        })
        .collect()
}

/// Whether letters of more than one alphabet stand in one name.
fn mixes_alphabets(name: &str) -> bool {
    let latin = name.chars().any(|c| c.is_ascii_alphabetic());
    let other = name.chars().any(|c| !c.is_ascii() && plain_letter(c) != c);
    latin && other
}

pub(super) fn of_tool(id: &ToolId, neighbours: &Neighbours) -> Vec<Flag> {
    let mut flags = Vec::new();
    let folded = fold(id.tool());
    let twins = neighbours.by_name.get(&folded).into_iter().flatten();
    let shadowed: Vec<&ToolId> = twins
        .filter(|other| other.server() != id.server())
        .collect();
    if let Some(first) = shadowed.first() {
        let more = match shadowed.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        flags.push(flag(Kind::Shadow, format!("same name as {first}{more}")));
    }
    let alike = neighbours
        .by_look
        .get(&look(id.tool()))
        .into_iter()
        .flatten();
    let mut unequal = alike.filter(|other| fold(other.tool()) != folded);
    if let Some(other) = unequal.next() {
        flags.push(flag(Kind::LookAlike, format!("looks like {other}")));
    } else if mixes_alphabets(id.tool()) {
        flags.push(flag(Kind::LookAlike, "mixes alphabets".to_owned()));
    }
    flags
}

pub(super) fn of_server(name: &str, neighbours: &Neighbours) -> Option<Flag> {
    let mut others: Vec<&String> = neighbours.servers.iter().collect();
    others.sort_unstable();
    let alike = others
        .into_iter()
        .find(|other| *other != name && look(other) == look(name));
    match alike {
        Some(other) => Some(flag(Kind::LookAlike, format!("looks like {other}"))),
        None if mixes_alphabets(name) => Some(flag(Kind::LookAlike, "mixes alphabets".to_owned())),
        None => None,
    }
}

/// The tools of other servers that a text names. Only names of several words count: single ones
/// are words of the language.
pub(super) fn mentioned(
    text: &str,
    id: &ToolId,
    neighbours: &Neighbours,
) -> impl Iterator<Item = String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '.';
    let words = text.split(|c: char| !is_name(c));
    let mut found: Vec<String> = words
        .map(|word| word.trim_matches(['.', '-']))
        .filter(|word| word.contains('_') || word.contains('-'))
        .filter_map(|word| {
            let holders = neighbours.by_exact.get(word)?;
            let own = holders.iter().any(|holder| holder.server() == id.server());
            let other = holders
                .iter()
                .find(|holder| holder.server() != id.server())?;
            (!own).then(|| format!("speaks about {other}"))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter()
}

fn flag(kind: Kind, detail: String) -> Flag {
    Flag {
        kind,
        place: "name".to_owned(),
        detail,
    }
}
