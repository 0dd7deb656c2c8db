//! Reading RTFS text into forms.

use crate::limits::{RTFS_DEPTH_MAX, RTFS_TEXT_BYTES_MAX};

/// One piece of RTFS.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// `nil`
    Nil,
    /// `true` or `false`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text.
    Text(String),
    /// `:key`, without the colon.
    Keyword(String),
    /// A name, a time, or any other bare word.
    Symbol(String),
    /// `( … )`
    List(Vec<Form>),
    /// `[ … ]`, and whether a `?` follows.
    Vector(Vec<Form>, bool),
    /// `{ … }`
    Map(Vec<(Form, Form)>),
}

/// Why text is not RTFS.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct ReadError {
    /// The line, from one.
    pub line: usize,
    /// The column in characters, from one.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub what: String,
}

/// Reads every form of a text; comments are left out.
pub fn read(text: &str) -> Result<Vec<Form>, ReadError> {
    let mut reader = Reader { text, at: 0 };
    if text.len() > RTFS_TEXT_BYTES_MAX {
        return Err(reader.wrong(format!(
            "the text is longer than {RTFS_TEXT_BYTES_MAX} bytes"
        )));
    }
    let mut forms = Vec::new();
    loop {
        reader.skip()?;
        if reader.rest().is_empty() {
            return Ok(forms);
        }
        forms.push(reader.form(0)?);
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn wrong(&self, what: impl Into<String>) -> ReadError {
        let before = &self.text[..self.at];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        ReadError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            what: what.into(),
        }
    }

    /// Goes over white space and comments.
    fn skip(&mut self) -> Result<(), ReadError> {
        loop {
            let rest = self.rest();
            let space = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', ',']).len();
            self.at += space;
            let rest = self.rest();
            if rest.starts_with(';') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("#|") {
                let end = rest.find("|#");
                let end =
                    end.ok_or_else(|| self.wrong("this comment has no end; close it with `|#`"))?;
                self.at += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn form(&mut self, depth: usize) -> Result<Form, ReadError> {
        if depth > RTFS_DEPTH_MAX {
            return Err(self.wrong(format!("nested deeper than {RTFS_DEPTH_MAX} levels")));
        }
        match self.peek() {
            Some('(') => Ok(Form::List(self.until(')', depth)?)),
            Some('[') => {
                let items = self.until(']', depth)?;
                let asked = self.rest().starts_with('?');
                self.at += usize::from(asked);
                Ok(Form::Vector(items, asked))
            }
            Some('{') => {
                let mut items = self.until('}', depth)?.into_iter();
                let mut pairs = Vec::new();
                while let Some(key) = items.next() {
                    let value = items.next();
                    let value = value.ok_or_else(|| self.wrong("a key in `{ }` has no value"))?;
                    pairs.push((key, value));
                }
                Ok(Form::Map(pairs))
            }
            Some('"') => self.string(),
            Some(')' | ']' | '}') => Err(self.wrong("this bracket closes nothing")),
            Some(_) => self.word(),
            None => Err(self.wrong("the text ends in the middle of a form")),
        }
    }

    fn until(&mut self, close: char, depth: usize) -> Result<Vec<Form>, ReadError> {
        let opened = self.wrong(format!("this bracket is never closed; add `{close}`"));
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip()?;
            match self.peek() {
                None => return Err(opened),
                Some(found) if found == close => {
                    self.at += 1;
                    return Ok(items);
                }
                Some(_) => items.push(self.form(depth + 1)?),
            }
        }
    }

    fn string(&mut self) -> Result<Form, ReadError> {
        let opened = self.wrong("this text is never closed; add `\"`");
        self.at += 1;
        let mut text = String::new();
        loop {
            let found = self.peek().ok_or_else(|| opened.clone())?;
            match found {
                '"' => {
                    self.at += 1;
                    return Ok(Form::Text(text));
                }
                '\\' => {
                    let escaped = self.rest().chars().nth(1).ok_or_else(|| opened.clone())?;
                    text.push(match escaped {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        '\\' | '"' => escaped,
                        _ => return Err(self.wrong("only \\n \\t \\r \\\\ and \\\" are escapes")),
                    });
                    self.at += 1 + escaped.len_utf8();
                }
                other => {
                    text.push(other);
                    self.at += other.len_utf8();
                }
            }
        }
    }

    fn word(&mut self) -> Result<Form, ReadError> {
        let rest = self.rest();
        let ends = |c: char| c.is_whitespace() || ",()[]{}\";".contains(c);
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let form = if let Some(name) = word.strip_prefix(':') {
            is_keyword(name).then(|| Form::Keyword(name.to_owned()))
        } else {
            plain(word)
        };
        let length = word.len();
        let form =
            form.ok_or_else(|| self.wrong(format!("`{word}` is no number, name or keyword")))?;
        self.at += length;
        Ok(form)
    }
}

fn plain(word: &str) -> Option<Form> {
    match word {
        "nil" => return Some(Form::Nil),
        "true" => return Some(Form::Bool(true)),
        "false" => return Some(Form::Bool(false)),
        _ => {}
    }
    let digits = word.strip_prefix('-').unwrap_or(word);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return is_symbol(word).then(|| Form::Symbol(word.to_owned()));
    }
    if let Ok(number) = word.parse() {
        return Some(Form::Int(number));
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_float = whole.bytes().all(|b| b.is_ascii_digit())
        && fraction.starts_with(|c: char| c.is_ascii_digit());
    if is_float {
        return word.parse().ok().map(Form::Float);
    }
    is_time(word).then(|| Form::Symbol(word.to_owned()))
}

/// `2025-01-01T00:00:00Z`
fn is_time(word: &str) -> bool {
    let mask: String = word
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    mask.starts_with("0000-00-00T00:00:00") && mask.ends_with('Z')
}

/// Whether a text can stand behind a `:`.
pub fn is_keyword(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(starts_name)
        && chars.all(|c| starts_name(c) || c.is_ascii_digit() || "-./:?!#".contains(c))
}

fn starts_name(c: char) -> bool {
    c.is_ascii_alphabetic() || "_$*+".contains(c)
}

fn is_symbol(word: &str) -> bool {
    let mut chars = word.chars();
    let starts = |c: char| starts_name(c) || "-<>=/!?&".contains(c);
    chars.next().is_some_and(starts)
        && chars.all(|c| starts(c) || c.is_ascii_digit() || ".:#".contains(c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn forms_are_read() {
        let forms = read("; c\n(a \"x\\n\\\"\" :k/b -3 2.5) #| block |# [1]? {:a nil}").unwrap();
        assert_eq!(
            forms,
            [
                Form::List(vec![
                    Form::Symbol("a".into()),
                    Form::Text("x\n\"".into()),
                    Form::Keyword("k/b".into()),
                    Form::Int(-3),
                    Form::Float(2.5),
                ]),
                Form::Vector(vec![Form::Int(1)], true),
                Form::Map(vec![(Form::Keyword("a".into()), Form::Nil)]),
            ]
        );
        assert_eq!(read(" \n ;; only\n").unwrap(), []);
        assert_eq!(read("true").unwrap(), [Form::Bool(true)]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, place, part) in [
            ("(a", (1, 1), "never closed"),
            ("\n (a\n  [1 2)", (3, 7), "closes nothing"),
            ("\"abc", (1, 1), "never closed"),
            ("\"a\\", (1, 1), "never closed"),
            ("\"a\\u00e9\"", (1, 3), "escapes"),
            ("{:a}", (1, 5), "no value"),
            (":2fa", (1, 1), "no number"),
            (":@t", (1, 1), "no number"),
            ("'y", (1, 1), "no number"),
            ("1e5", (1, 1), "no number"),
            ("#| open", (1, 1), "no end"),
            (")", (1, 1), "closes nothing"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!((error.line, error.column), place, "{text}: {error}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
        let deep = "[".repeat(RTFS_DEPTH_MAX + 2);
        assert!(read(&deep).unwrap_err().what.contains("deeper"));
        let long = " ".repeat(RTFS_TEXT_BYTES_MAX + 1);
        assert!(read(&long).unwrap_err().what.contains("longer"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_fail_otherwise(text in "[\\[\\](){}\":;#|?,. a-c\\\\én\n1-3]{0,40}") {
            let _ = read(&text);
        }
    }
}
