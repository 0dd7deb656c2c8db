//! The command line, taken apart by hand: a task has a handful of flags and starts in no time.

use anyhow::{Context, Result, bail};

/// What is left of a command line; each reader takes out what it understands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Args {
    rest: Vec<String>,
}

impl Args {
    pub(crate) fn new(rest: Vec<String>) -> Self {
        Self { rest }
    }

    /// Takes the first argument if it is not an option.
    pub(crate) fn positional(&mut self) -> Option<String> {
        match self.rest.first() {
            Some(first) if !first.starts_with('-') => Some(self.rest.remove(0)),
            _ => None,
        }
    }

    /// Takes `--name` and says whether it was there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.rest.len();
        let end = self.own_len();
        let mut index = 0;
        self.rest.retain(|argument| {
            index += 1;
            index > end || argument != name
        });
        self.rest.len() != before
    }

    /// Takes every `--name VALUE` and `--name=VALUE`, in order.
    pub(crate) fn options(&mut self, name: &str) -> Result<Vec<String>> {
        let mut values = Vec::new();
        let mut index = 0;
        while index < self.own_len() {
            if self.rest[index] == name {
                if index + 1 >= self.own_len() {
                    bail!("`{name}` needs a value");
                }
                self.rest.remove(index);
                values.push(self.rest.remove(index));
            } else if let Some(value) = self.rest[index]
                .strip_prefix(name)
                .and_then(|tail| tail.strip_prefix('='))
            {
                values.push(value.to_owned());
                self.rest.remove(index);
            } else {
                index += 1;
            }
        }
        Ok(values)
    }

    /// Takes `--name NUMBER`.
    pub(crate) fn number(&mut self, name: &str) -> Result<Option<u64>> {
        match self.options(name)?.pop() {
            Some(text) => {
                Ok(Some(text.parse().with_context(|| {
                    format!("`{name} {text}` is not a whole number")
                })?))
            }
            None => Ok(None),
        }
    }

    /// Takes what follows `--`, which is meant for another program.
    pub(crate) fn passed_on(&mut self) -> Vec<String> {
        match self.rest.iter().position(|argument| argument == "--") {
            Some(position) => {
                let tail = self.rest.split_off(position + 1);
                self.rest.pop();
                tail
            }
            None => Vec::new(),
        }
    }

    /// All that is left, for a task that reads its own arguments.
    pub(crate) fn remaining(&self) -> &[String] {
        &self.rest
    }

    pub(crate) fn asks_for_help(&self) -> bool {
        self.rest[..self.own_len()]
            .iter()
            .any(|argument| argument == "--help" || argument == "-h")
    }

    /// Fails when something is left that nobody took.
    pub(crate) fn finish(&self) -> Result<()> {
        match self
            .rest
            .iter()
            .find(|argument| !matches!(argument.as_str(), "--help" | "-h"))
        {
            Some(unknown) => {
                bail!("`{unknown}` is not an argument of this task; `--help` shows what it takes")
            }
            None => Ok(()),
        }
    }

    /// How many arguments stand before `--`.
    fn own_len(&self) -> usize {
        self.rest
            .iter()
            .position(|argument| argument == "--")
            .unwrap_or(self.rest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(text: &str) -> Args {
        Args::new(text.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn options_are_taken_in_both_spellings_and_in_order() {
        let mut args = args("--only fmt --skip=eval --only=clippy");
        assert_eq!(args.options("--only").unwrap(), ["fmt", "clippy"]);
        assert_eq!(args.options("--skip").unwrap(), ["eval"]);
        args.finish().unwrap();
    }

    #[test]
    fn what_nobody_took_is_an_error_that_names_it() {
        let mut args = args("check --colour");
        assert_eq!(args.positional().as_deref(), Some("check"));
        assert!(args.finish().unwrap_err().to_string().contains("--colour"));
    }

    #[test]
    fn what_follows_two_dashes_is_left_to_the_other_program() {
        let mut args = args("--coverage -- --coverage --help");
        assert!(!args.asks_for_help());
        assert!(args.flag("--coverage"));
        assert_eq!(args.passed_on(), ["--coverage", "--help"]);
        args.finish().unwrap();
    }

    #[test]
    fn an_option_without_its_value_is_an_error() {
        assert!(args("--seconds").number("--seconds").is_err());
        assert!(args("--seconds ten").number("--seconds").is_err());
        assert_eq!(args("--seconds 10").number("--seconds").unwrap(), Some(10));
    }
}
