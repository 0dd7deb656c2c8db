//! Values that stand in a wish or its context, put where the tool takes them.
//!
//! Values are copied as they stand, never converted: five thousand naira are not silently five
//! thousand kobo. Where two parameters could be meant, none is filled; what is missing is asked for.

mod tokens;
mod unit;

use serde_json::{Map, Number, Value};

use self::tokens::{Kind, Token};
use super::money;
use crate::catalog::name::{singular, words};
use crate::schema::outline::{Field, Outline};

/// A value, the parameter that it was put into, and where it stood.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// The parameter.
    pub field: String,
    /// The value, as it stood.
    pub value: Value,
    /// Where it stood: `query at 7: 5000 NGN`, or `context.currency`.
    pub from: String,
    /// The question to ask where the value may be meant otherwise.
    pub doubt: Option<String>,
}

/// What values are taken from, and for what.
pub struct Wish<'a> {
    /// What is wanted, in plain words.
    pub query: &'a str,
    /// What is known beside it.
    pub context: &'a Map<String, Value>,
    /// The tool's name, whose words a bare `id` belongs to.
    pub tool: &'a str,
    /// The tool's arguments.
    pub arguments: &'a Outline<'a>,
    /// Whether a parameter takes a value.
    pub fits: &'a dyn Fn(&str, &Value) -> bool,
}

/// The values of a wish that belong to parameters, each parameter once, in the order of the schema.
pub fn take(wish: &Wish<'_>) -> Vec<Taken> {
    let mut taking = Taking {
        wish,
        taken: Vec::new(),
    };
    taking.context();
    let tokens = tokens::of(wish.query);
    for token in &tokens {
        taking.token(token, &tokens);
    }
    taking.country();
    taking.listed();
    let order = |taken: &Taken| {
        let fields = wish.arguments.fields.iter();
        fields.clone().position(|field| field.name == taken.field)
    };
    taking.taken.sort_by_key(order);
    taking.taken
}

struct Taking<'a> {
    wish: &'a Wish<'a>,
    taken: Vec<Taken>,
}

/// Words at the end of a name that say what a value is, not of what.
const TAILS: [&str; 6] = ["id", "code", "number", "no", "key", "ref"];

/// Words between a parameter's name and its value.
const FILLERS: [&str; 14] = [
    "id", "code", "number", "no", "is", "of", "the", "a", "an", "named", "called", "with", "set",
    "as",
];

impl<'a> Taking<'a> {
    fn free(&self) -> impl Iterator<Item = &'a Field<'a>> + '_ {
        let fields = self.wish.arguments.fields.iter();
        fields.filter(|field| !self.taken.iter().any(|taken| taken.field == field.name))
    }

    /// Puts a value into a parameter, where the parameter takes it.
    fn put(&mut self, field: &Field<'_>, value: Value, from: String) -> bool {
        self.put_amount(field, value, from, None)
    }

    /// Puts a value into a parameter, where the parameter takes it; `stood` is the amount of money as
    /// it stood, with its currency.
    fn put_amount(
        &mut self,
        field: &Field<'_>,
        value: Value,
        from: String,
        stood: Option<&str>,
    ) -> bool {
        if !(self.wish.fits)(field.name, &value) {
            return false;
        }
        let counts = value.is_number() || is_amount(field) && value.is_string();
        let question = unit::question(field, stood).filter(|_| counts);
        let doubt = question.map(|question| {
            format!(
                "`{}` is {value} as it stands in the request; {question}",
                field.name
            )
        });
        self.taken.push(Taken {
            field: field.name.to_owned(),
            value,
            from,
            doubt,
        });
        true
    }

    fn context(&mut self) {
        for (name, value) in self.wish.context {
            if value.is_null() {
                continue;
            }
            let field = self.free().find(|field| same_thing(field.name, name));
            if let Some(field) = field {
                self.put(field, value.clone(), format!("context.{name}"));
            }
        }
    }

    fn token(&mut self, token: &Token<'_>, all: &[Token<'_>]) {
        let field = self
            .named_by(token)
            .or_else(|| self.preceded_by(token))
            .or_else(|| self.of_kind(token, all));
        let Some(field) = field else { return };
        for value in readings(token, &field.outline) {
            let from = format!("query at {}: {}", token.start, token.shown);
            let stood = (token.kind == Kind::Amount).then_some(token.shown);
            if self.put_amount(field, value, from, stood) {
                return;
            }
        }
    }

    /// The parameter that `name=value` or `name: value` names.
    fn named_by(&self, token: &Token<'_>) -> Option<&'a Field<'a>> {
        let name = token.name?;
        self.free().find(|field| same_thing(field.name, name))
    }

    /// The parameter whose name stands before the value.
    fn preceded_by(&self, token: &Token<'_>) -> Option<&'a Field<'a>> {
        if token.kind == Kind::Currency {
            return None;
        }
        let mut before: Vec<String> = words(&self.wish.query[..token.start]);
        let close = before.last().cloned();
        while before
            .last()
            .is_some_and(|word| FILLERS.contains(&word.as_str()))
        {
            before.pop();
        }
        let about = words(self.wish.tool);
        let score = |field: &&Field<'_>| {
            let mut name: Vec<String> = words(field.name);
            if close
                .as_ref()
                .is_some_and(|close| name.len() == 1 && name[0] == *close)
            {
                return 1;
            }
            while name
                .last()
                .is_some_and(|word| TAILS.contains(&word.as_str()))
            {
                name.pop();
            }
            if name.is_empty() {
                // A bare `id` is that of what the tool is about.
                let said = before.last().map(|word| singular(word));
                let own = about.iter().any(|word| Some(singular(word)) == said);
                return usize::from(own);
            }
            let ends = before.len() >= name.len()
                && before[before.len() - name.len()..]
                    .iter()
                    .zip(&name)
                    .all(|(said, own)| singular(said) == singular(own));
            if ends { name.len() } else { 0 }
        };
        // Money is never what tells one thing from another, whatever stands before it.
        let money = token.kind == Kind::Amount;
        best(self.free().filter(|f| !money || is_amount(f)), score)
    }

    /// The one parameter that takes this kind of value.
    fn of_kind(&self, token: &Token<'_>, all: &[Token<'_>]) -> Option<&'a Field<'a>> {
        let has = |field: &Field<'_>, any: &[&str]| {
            words(field.name)
                .iter()
                .any(|word| any.contains(&word.as_str()))
        };
        match token.kind {
            Kind::Email => self.sole(|f| format(f) == "email" || has(f, &["email", "mail"])),
            Kind::Address => {
                self.sole(|f| matches!(format(f), "uri" | "url") || has(f, &["url", "uri", "link"]))
            }
            Kind::Amount => self.sole(|f| {
                let last = words(f.name).pop().unwrap_or_default();
                ["amount", "price", "total"].contains(&last.as_str())
            }),
            Kind::Currency => self.sole(|f| same_thing(f.name, "currency")),
            Kind::Date => self.sole(|f| format(f).starts_with("date")),
            Kind::Code => {
                let prefix = token
                    .text
                    .split(['_', '-'])
                    .next()
                    .unwrap_or("")
                    .to_lowercase();
                let begun = |f: &&Field<'_>| {
                    let own = words(f.name);
                    usize::from(prefix.len() >= 3 && own.iter().any(|w| w.starts_with(&prefix)))
                };
                let codes = all.iter().filter(|t| t.kind == Kind::Code).count();
                let lone = || {
                    let any = ["id", "code", "reference", "token"];
                    self.sole(|f| f.required && has(f, &any))
                };
                best(self.free(), begun).or_else(|| lone().filter(|_| codes == 1))
            }
            Kind::Number | Kind::Quoted => None,
        }
    }

    /// The one required parameter, else the one parameter, that something holds for.
    fn sole(&self, holds: impl Fn(&Field<'_>) -> bool) -> Option<&'a Field<'a>> {
        let found: Vec<&Field<'_>> = self.free().filter(|field| holds(field)).collect();
        let required: Vec<&&Field<'_>> = found.iter().filter(|field| field.required).collect();
        match (required.as_slice(), found.as_slice()) {
            ([field], _) => Some(**field),
            ([], [field]) => Some(*field),
            _ => None,
        }
    }

    fn country(&mut self) {
        let Some((start, end, _)) = money::country_in(self.wish.query) else {
            return;
        };
        let field = self.free().find(|field| same_thing(field.name, "country"));
        if let Some(field) = field {
            let stood = &self.wish.query[start..end];
            self.put(field, stood.into(), format!("query at {start}: {stood}"));
        }
    }

    /// Values that a required parameter lists, where the query holds exactly one of them.
    fn listed(&mut self) {
        let said: Vec<(usize, &str)> = tokens::words_of(self.wish.query).collect();
        let fields: Vec<&Field<'_>> = self.free().filter(|field| field.required).collect();
        for field in fields {
            let hits: Vec<&(usize, &str)> = said
                .iter()
                .filter(|(_, word)| {
                    let listed = field.outline.values.iter();
                    word.len() >= 3 && listed.clone().any(|value| value.as_str() == Some(word))
                })
                .collect();
            if let [(at, word)] = hits.as_slice() {
                self.put(field, (*word).into(), format!("query at {at}: {word}"));
            }
        }
    }
}

/// The field with the highest score above 0; none where two share it.
fn best<'a>(
    fields: impl Iterator<Item = &'a Field<'a>>,
    score: impl Fn(&&Field<'_>) -> usize,
) -> Option<&'a Field<'a>> {
    let mut found: Option<(usize, &Field<'_>)> = None;
    let mut tied = false;
    for field in fields {
        let points = score(&field);
        match found {
            _ if points == 0 => {}
            Some((most, _)) if points < most => {}
            Some((most, _)) if points == most => tied = true,
            _ => {
                found = Some((points, field));
                tied = false;
            }
        }
    }
    found.filter(|_| !tied).map(|(_, field)| field)
}

/// Whether a parameter is an amount of money, by its name.
fn is_amount(field: &Field<'_>) -> bool {
    const WORDS: [&str; 22] = [
        "amount", "balance", "budget", "cap", "cost", "deposit", "discount", "fee", "gross",
        "limit", "max", "maximum", "min", "minimum", "net", "price", "salary", "subtotal", "sum",
        "tax", "total", "value",
    ];
    let name = words(field.name);
    let tail = name
        .last()
        .is_some_and(|last| TAILS.contains(&last.as_str()));
    !tail
        && name
            .iter()
            .any(|word| WORDS.contains(&singular(word).as_str()))
}

/// The format that a parameter's schema names.
fn format<'a>(field: &Field<'a>) -> &'a str {
    field.outline.text("format").unwrap_or("")
}

/// Whether a parameter is what a word of the context names: `country` is `countryCode` too.
fn same_thing(field: &str, name: &str) -> bool {
    let (mut own, said) = (words(field), words(name));
    if own == said {
        return true;
    }
    if own.last().is_some_and(|word| word == "code") {
        own.pop();
    }
    own == said
}

/// What a value can be read as for a parameter, the nearest to its type first.
fn readings(token: &Token<'_>, outline: &Outline<'_>) -> Vec<Value> {
    let bare = token.text.trim_matches(|c: char| money::SIGNS.contains(&c));
    let whole = money::without_groups(bare);
    let bare = whole.as_deref().unwrap_or(bare);
    let number = || -> Option<Value> {
        let plain = bare
            .bytes()
            .all(|b| b.is_ascii_digit() || b == b'.' || b == b'-');
        let whole = bare.parse::<i64>().ok().map(Value::from);
        let real = || bare.parse::<f64>().ok().and_then(Number::from_f64);
        whole
            .or_else(|| real().map(Value::Number))
            .filter(|_| plain)
    };
    let wants_number = outline.allows("integer") || outline.allows("number");
    let mut all: Vec<Value> = Vec::new();
    if wants_number && !outline.types.is_empty() {
        all.extend(number());
    }
    if outline.allows("string") {
        let text = match token.kind {
            Kind::Amount => bare,
            _ => token.text,
        };
        all.push(text.into());
    }
    all
}

#[cfg(test)]
mod tests;
