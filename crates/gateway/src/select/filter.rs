//! The filter itself: the jq language without anything that looks outside or ends the process.

use std::io::Write as _;

use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, compile, data, unwrap_valr};
use jaq_json::{Val, read};
use toolcrib_core::limits::SELECT_OUTPUT_BYTES_MAX;

/// What is not there: the environment, other inputs, writing past the answer, ending the process.
const ABSENT: [&str; 10] = [
    "env",
    "input",
    "inputs",
    "debug",
    "debug_empty",
    "stderr",
    "stderr_empty",
    "halt",
    "halt_error",
    "now",
];

/// What a filter makes of a JSON text; nothing where there is none to be filtered.
pub(super) fn run(filter: &str, value: Option<&[u8]>) -> Result<Vec<u8>, String> {
    let definitions = jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs())
        .filter(|definition| !ABSENT.contains(&definition.name));
    let functions = jaq_core::funs()
        .chain(jaq_std::funs())
        .chain(jaq_json::funs())
        .filter(|(name, ..)| !ABSENT.contains(name));
    let arena = Arena::default();
    let file = File {
        code: filter,
        path: (),
    };
    let modules = Loader::new(definitions)
        .load(&arena, file)
        .map_err(|errors| unreadable(&errors))?;
    load::import(&modules, |_| Err("there are no files here".to_owned()))
        .map_err(|errors| unreadable(&errors))?;
    let compiled = Compiler::default()
        .with_funs(functions)
        .compile(modules)
        .map_err(|errors| undefined(&errors))?;
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    let value = read::parse_single(value)
        .map_err(|error| format!("the result cannot be filtered: {error}"))?;
    let context = Ctx::<data::JustLut<Val>>::new(&compiled.lut, Vars::new([]));
    let outputs = compiled.id.run((context, value)).map(unwrap_valr);
    written(outputs.map(|output| output.map_err(|error| failed(&error.to_string()))))
}

/// One output by itself, any other number of them as a list.
fn written(outputs: impl Iterator<Item = Result<Val, String>>) -> Result<Vec<u8>, String> {
    let mut text = vec![b'['];
    let mut count = 0_usize;
    for output in outputs {
        if count > 0 {
            text.push(b',');
        }
        count += 1;
        // Writing to memory cannot fail.
        let _ = write!(text, "{}", output?);
        if text.len() >= SELECT_OUTPUT_BYTES_MAX {
            return Err(format!(
                "the filter gives more than {SELECT_OUTPUT_BYTES_MAX} bytes"
            ));
        }
    }
    if count == 1 {
        text.remove(0);
    } else {
        text.push(b']');
    }
    Ok(text)
}

/// Most characters of anything in a sentence.
const SHOWN_CHARS_MAX: usize = 60;

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

fn failed(error: &str) -> String {
    format!("the filter does not fit the result: {}", shown(error))
}

fn unreadable(errors: &load::Errors<&str, ()>) -> String {
    let place = errors.iter().find_map(|(_, error)| match error {
        load::Error::Lex(found) => found.first().map(|(_, rest)| *rest),
        load::Error::Parse(found) => found.first().map(|(_, rest)| *rest),
        load::Error::Io(found) => found.first().map(|(path, _)| *path),
    });
    match place {
        Some(place) if !place.trim().is_empty() => {
            format!("the filter cannot be read at `{}`", shown(place.trim()))
        }
        _ => "the filter cannot be read to its end".to_owned(),
    }
}

fn undefined(errors: &compile::Errors<&str, ()>) -> String {
    let first = errors.iter().flat_map(|(_, errors)| errors).next();
    first.map_or_else(
        || "the filter cannot be used".to_owned(),
        |(name, kind)| format!("there is no {} `{}` here", kind.as_str(), shown(name)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(filter: &str, value: &str) -> Result<String, String> {
        run(filter, Some(value.as_bytes())).map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn filters_do_what_jq_does() {
        let check = |filter: &str, value: &str, expected: &str| {
            assert_eq!(filtered(filter, value).as_deref(), Ok(expected), "{filter}");
        };
        check(".a", r#"{"a": 1.50}"#, "1.50");
        check(".[] | .n", r#"[{"n": 1}, {"n": 2}]"#, "[1,2]");
        check(
            "map(select(.n > 1)) | length",
            r#"[{"n": 1}, {"n": 2}]"#,
            "1",
        );
        check("empty", "1", "[]");
        check(
            ".",
            "123456789012345678901234567890",
            "123456789012345678901234567890",
        );
        check("{a: .b.c}", r#"{"b": {"c": "x"}}"#, r#"{"a":"x"}"#);
        check("test(\"a+\")", "\"caat\"", "true");
        assert_eq!(run(".a", None), Ok(Vec::new()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let check = |filter: &str, part: &str| {
            let why = filtered(filter, "[1]").unwrap_err();
            assert!(why.contains(part), "{filter}: {why}");
        };
        check("map(", "cannot be read");
        check(".a | | .b", "cannot be read");
        check("nonsense", "no filter `nonsense`");
        check("$x", "no variable `$x`");
        check("error(\"x\")", "does not fit");
        check(".a", "does not fit");
        check("[limit(5000000; repeat(1))] | .[]", "more than");
    }

    #[test]
    fn nothing_looks_outside_or_ends_the_process() {
        for filter in [
            "env",
            "$ENV",
            "$ENV.PATH",
            "input",
            "[inputs]",
            "debug",
            "debug(1)",
            "stderr",
            "halt",
            "halt(0)",
            "halt_error",
            "now",
            "input_filename",
            "get_search_list",
            "import \"a\" as a; a::f",
            "include \"a\"; f",
            "import \"/etc/passwd\" as $d; $d",
        ] {
            let why = run(filter, None).expect_err(filter);
            assert!(
                why.contains("there is no") || why.contains("cannot be read"),
                "{filter}: {why}"
            );
        }
    }
}
