//! Writing RTFS.

use super::form::is_keyword;
use super::{Dialect, Entry, Type};

/// A type on one line. Keys that cannot be keywords are written as texts, which only the documents'
/// dialect reads back; a capability file keeps them aside for the other.
pub fn of_type(of: &Type, dialect: Dialect) -> String {
    let mut out = String::new();
    write_type(&mut out, of, dialect);
    out
}

fn write_type(out: &mut String, of: &Type, dialect: Dialect) {
    match of {
        Type::Any => out.push_str(":any"),
        Type::String => out.push_str(":string"),
        Type::Int => out.push_str(":int"),
        Type::Float => out.push_str(":float"),
        Type::Bool => out.push_str(":bool"),
        Type::Vector(of) => {
            out.push_str("[:vector ");
            write_type(out, of, dialect);
            out.push(']');
        }
        Type::MapOf(of) => {
            out.push_str("[:map-of :string ");
            write_type(out, of, dialect);
            out.push(']');
        }
        Type::Union(members) => {
            out.push_str("[:union");
            for member in members {
                out.push(' ');
                write_type(out, member, dialect);
            }
            out.push(']');
        }
        Type::Map(entries) => {
            out.push_str("[:map");
            for entry in entries.iter().filter_map(|entry| of_entry(entry, dialect)) {
                out.push(' ');
                out.push_str(&entry);
            }
            out.push(']');
        }
    }
}

/// One key of an object; `None` where the dialect has no way to write it.
pub(super) fn of_entry(entry: &Entry, dialect: Dialect) -> Option<String> {
    let key = match (can_be_key(&entry.key), dialect) {
        (true, _) => format!(":{}", entry.key),
        (false, Dialect::Document) => quoted(&entry.key),
        (false, Dialect::Ccos) => return None,
    };
    let value = of_type(&entry.value, dialect);
    Some(match (entry.optional, dialect) {
        (false, _) => format!("[{key} {value}]"),
        (true, Dialect::Document) => format!("[{key} {{:optional true}} {value}]"),
        (true, Dialect::Ccos) => format!("[{key} {value} ?]"),
    })
}

/// Whether a key can be written as a keyword; `:*` stands for every other key.
fn can_be_key(key: &str) -> bool {
    is_keyword(key) && key != "*"
}

/// Whether every key of a type can be written in the CCOS dialect.
pub(super) fn is_plain(of: &Type) -> bool {
    match of {
        Type::Vector(of) | Type::MapOf(of) => is_plain(of),
        Type::Union(members) => members.iter().all(is_plain),
        Type::Map(entries) => entries
            .iter()
            .all(|entry| can_be_key(&entry.key) && is_plain(&entry.value)),
        _ => true,
    }
}

/// A text in quotes. Nothing in it can end it: quotes, backslashes and line breaks are escaped.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rtfs::form::{Form, read};
    use crate::rtfs::grammar::type_of_text;

    fn types() -> impl Strategy<Value = Type> {
        let leaf = prop_oneof![
            Just(Type::Any),
            Just(Type::String),
            Just(Type::Int),
            Just(Type::Float),
            Just(Type::Bool),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            let entry = ("[a-z$*][a-z0-9_./?-]{0,5}", any::<bool>(), inner.clone());
            let entry = entry.prop_map(|(key, optional, value)| Entry {
                key,
                optional,
                value,
            });
            prop_oneof![
                inner.clone().prop_map(|of| Type::Vector(Box::new(of))),
                inner.clone().prop_map(|of| Type::MapOf(Box::new(of))),
                prop::collection::vec(entry, 0..4).prop_map(Type::Map),
                prop::collection::vec(inner, 2..4).prop_map(Type::Union),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(of in types()) {
            let written = of_type(&of, Dialect::Document);
            prop_assert_eq!(type_of_text(&written, Dialect::Document), Ok(of.clone()), "{}", written);
            if is_plain(&of) {
                let written = of_type(&of, Dialect::Ccos);
                prop_assert_eq!(type_of_text(&written, Dialect::Ccos), Ok(of), "{}", written);
            }
        }

        #[test]
        fn no_text_leaves_its_quotes(text in any::<String>()) {
            let written = quoted(&text);
            prop_assert!(!written.contains('\n'));
            prop_assert_eq!(read(&written), Ok(vec![Form::Text(text)]));
        }
    }
}
