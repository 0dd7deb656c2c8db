//! Types read back from forms.

use super::form::{Form, ReadError, read};
use super::{Dialect, Entry, Type};

/// Reads the one type expression of a text. What the dialect allows and [`Type`] cannot say, such as a
/// refined type, is read as `:any`.
pub fn type_of_text(text: &str, dialect: Dialect) -> Result<Type, ReadError> {
    let wrong = |what: String| ReadError {
        line: 1,
        column: 1,
        what,
    };
    match read(text)?.as_slice() {
        [form] => type_of(form, dialect).map_err(wrong),
        forms => Err(wrong(format!(
            "one type is wanted, {} are there",
            forms.len()
        ))),
    }
}

/// Reads a type; the error says what is not one.
pub fn type_of(form: &Form, dialect: Dialect) -> Result<Type, String> {
    match form {
        Form::Keyword(name) => Ok(match name.as_str() {
            "string" => Type::String,
            "int" => Type::Int,
            "float" => Type::Float,
            "bool" => Type::Bool,
            _ => Type::Any,
        }),
        Form::Symbol(_) => Ok(Type::Any),
        Form::Vector(items, false) => compound(items, dialect),
        Form::Vector(_, true) => Err("`?` stands only behind the type of a key".to_owned()),
        other => Err(format!("{} is no type", shown(other))),
    }
}

fn compound(items: &[Form], dialect: Dialect) -> Result<Type, String> {
    let Some((Form::Keyword(head), rest)) = items.split_first() else {
        return Err("a type in brackets begins with a keyword such as `:vector`".to_owned());
    };
    let members = || -> Result<Vec<Type>, String> {
        rest.iter().map(|form| type_of(form, dialect)).collect()
    };
    match (head.as_str(), rest) {
        ("vector", [of]) => Ok(Type::Vector(Box::new(type_of(of, dialect)?))),
        ("map", entries) => map(entries, dialect),
        ("map-of", [key, value]) => {
            type_of(key, dialect)?;
            Ok(Type::MapOf(Box::new(type_of(value, dialect)?)))
        }
        ("union", [_, ..]) => Ok(Type::Union(members()?)),
        ("tuple" | "array", [_, ..]) => members().map(|_| Type::Any),
        ("enum" | "val", [_, ..]) if rest.iter().all(is_literal) => Ok(Type::Any),
        ("and", [base, predicates @ ..]) if predicates.iter().all(is_predicate) => {
            type_of(base, dialect)
        }
        (head, _) => Err(format!("`[:{head} …]` is no type with what it holds")),
    }
}

fn map(entries: &[Form], dialect: Dialect) -> Result<Type, String> {
    if let [Form::Map(pairs)] = entries {
        let entries = pairs.iter().map(|(key, value)| {
            Ok(Entry {
                key: key_of(key, dialect)?,
                optional: false,
                value: type_of(value, dialect)?,
            })
        });
        return Ok(Type::Map(entries.collect::<Result<_, String>>()?));
    }
    let mut read = Vec::new();
    for entry in entries {
        let Form::Vector(parts, false) = entry else {
            return Err(format!("{} is no key of a map", shown(entry)));
        };
        if parts.first() == Some(&Form::Keyword("*".to_owned())) {
            match parts.as_slice() {
                [_, rest] => drop(type_of(rest, dialect)?),
                _ => return Err("`[:* T]` takes one type".to_owned()),
            }
        } else {
            read.push(map_entry(parts, dialect)?);
        }
    }
    Ok(Type::Map(read))
}

fn map_entry(parts: &[Form], dialect: Dialect) -> Result<Entry, String> {
    let asked = |form: &Form| *form == Form::Symbol("?".to_owned());
    let (key, optional, value) = match parts {
        [key, Form::Map(flags), value] if dialect == Dialect::Document => {
            let optional = (Form::Keyword("optional".to_owned()), Form::Bool(true));
            if *flags != [optional] {
                return Err("a key has no other flag than `{:optional true}`".to_owned());
            }
            (key, true, value.clone())
        }
        [key, value, mark] if asked(mark) => (key, true, value.clone()),
        [key, Form::Vector(items, true)] => (key, true, Form::Vector(items.clone(), false)),
        [key, value] => (key, false, value.clone()),
        _ => return Err("a key of a map is written `[:key TYPE]`".to_owned()),
    };
    Ok(Entry {
        key: key_of(key, dialect)?,
        optional,
        value: type_of(&value, dialect)?,
    })
}

fn key_of(form: &Form, dialect: Dialect) -> Result<String, String> {
    match form {
        Form::Keyword(name) => Ok(name.clone()),
        Form::Text(name) if dialect == Dialect::Document => Ok(name.clone()),
        other => Err(format!("{} is no key of a map", shown(other))),
    }
}

fn is_literal(form: &Form) -> bool {
    !matches!(form, Form::List(_) | Form::Vector(..) | Form::Map(_))
}

/// `[:min-length 1]`
fn is_predicate(form: &Form) -> bool {
    let Form::Vector(parts, false) = form else {
        return false;
    };
    matches!(parts.as_slice(), [Form::Keyword(_), rest @ ..] if rest.iter().all(is_literal))
}

fn shown(form: &Form) -> &'static str {
    match form {
        Form::Nil => "`nil`",
        Form::Bool(_) => "true or false",
        Form::Int(_) | Form::Float(_) => "a number",
        Form::Text(_) => "a text",
        Form::Keyword(_) => "a keyword",
        Form::Symbol(_) => "a name",
        Form::List(_) => "a list",
        Form::Vector(..) => "a vector",
        Form::Map(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dialects_differ_in_optional_and_odd_keys() {
        let both = |text: &str| {
            [Dialect::Document, Dialect::Ccos].map(|dialect| type_of_text(text, dialect).is_ok())
        };
        assert_eq!(both("[:map [:a :string] [:b :int ?]]"), [true, true]);
        assert_eq!(both("[:map [:a {:optional true} :string]]"), [true, false]);
        assert_eq!(both("[:map [\"weird key\" :string]]"), [true, false]);
        assert_eq!(
            both("[:map [:a {:optional false} :string]]"),
            [false, false]
        );
    }

    #[test]
    fn what_is_no_type_says_why() {
        for (text, part) in [
            ("5", "a number is no type"),
            ("\"x\"", "a text is no type"),
            ("nil", "`nil` is no type"),
            ("true", "true or false is no type"),
            ("(a)", "a list is no type"),
            ("{:a 1}", "a map is no type"),
            ("[]", "begins with a keyword"),
            ("[:vector]", "[:vector …]"),
            ("[:vector :string]?", "behind the type of a key"),
            ("[:map :a]", "a keyword is no key"),
            ("[:map [:a]]", "written `[:key TYPE]`"),
            ("[:map [1 :string]]", "a number is no key"),
            ("[:map [:* :any :any]]", "takes one type"),
            ("[:and :int [:>= 0]]", "no number"),
            ("[:enum [1]]", "[:enum …]"),
            (":string :int", "2 are there"),
            ("[:map [[:a] :string]]", "a vector is no key"),
            ("[:map [name :string]]", "a name is no key"),
        ] {
            let error = type_of_text(text, Dialect::Ccos).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn what_a_type_cannot_say_is_read_as_any() {
        for text in [
            ":nil",
            "number",
            "[:tuple :string :int]",
            "[:enum \"a\" nil]",
            "[:val \"x\"]",
        ] {
            assert_eq!(type_of_text(text, Dialect::Ccos), Ok(Type::Any), "{text}");
        }
        let refined = type_of_text("[:and :string [:min-length 1]]", Dialect::Ccos);
        assert_eq!(refined, Ok(Type::String));
        let pairs = type_of_text("[:map {:a :string}]", Dialect::Ccos).unwrap();
        assert_eq!(
            pairs,
            type_of_text("[:map [:a :string] [:* :any]]", Dialect::Ccos).unwrap()
        );
    }
}
