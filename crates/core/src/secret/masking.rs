//! Text without what looks like a secret in it.

use super::pieces::pieces;
use super::reference::{Reference, only_refers};
use super::{MASK, name_is_secret, value_is_secret};

/// Words that follow the name of a secret in a sentence and are never its value.
const PROSE_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "cannot", "check", "for",
    "from", "has", "in", "into", "is", "it", "may", "must", "needs", "not", "of", "on", "or",
    "that", "the", "to", "was", "were", "which", "with",
];

/// The text with everything that looks like a secret replaced by [`MASK`]: values after `name=` or
/// `name:` where the name says so, user information in addresses, and tokens by their look. What refers
/// to a variable stays.
pub fn mask(text: &str) -> String {
    let mut masking = Masking {
        text,
        out: String::with_capacity(text.len()),
        kept: 0,
        passed: 0,
        named: false,
        prose: false,
    };
    let mut start = 0;
    for (piece, separates) in pieces(text) {
        let end = start + piece.len();
        if end > masking.passed {
            let piece = &text[start.max(masking.passed)..end];
            if separates {
                masking.pass_separators(piece);
            } else {
                masking.pass_word(piece, start);
            }
        }
        start = end;
    }
    masking.out.push_str(&text[masking.kept..]);
    mask_userinfo(masking.out)
}

/// The state while going along a text.
struct Masking<'a> {
    text: &'a str,
    out: String,
    /// What stands before it is in `out`.
    kept: usize,
    /// What stands before it was looked at as a whole.
    passed: usize,
    /// Whether the name of a secret was said, whose value comes next.
    named: bool,
    /// Whether what comes next may be the rest of a sentence.
    prose: bool,
}

impl Masking<'_> {
    fn hide(&mut self, start: usize, end: usize) {
        self.out.push_str(&self.text[self.kept..start]);
        self.out.push_str(MASK);
        self.kept = end;
    }

    fn pass_separators(&mut self, piece: &str) {
        if self.named {
            // A clause may end here and the sentence go on.
            self.prose = piece.trim_start_matches([',', ';']).trim().is_empty();
            self.named = piece.contains(['=', ':', ' ', '"', '\'']);
        }
    }

    fn pass_word(&mut self, piece: &str, start: usize) {
        let end = start + piece.len();
        let reference_at = match piece {
            "env" if self.text[..start].ends_with('{') => Some(start - 1),
            _ => piece.ends_with('$').then(|| end - 1),
        };
        if let Some(at) = reference_at
            && let Some(reference) = Reference::at_front(&self.text[at..])
        {
            return self.pass_reference(reference, start, at);
        }
        // A sentence about a secret goes on; it does not say the secret.
        self.named &= !(self.prose && PROSE_WORDS.contains(&piece));
        if self.named && !matches!(piece, "Bearer" | "Basic") || value_is_secret(piece) {
            self.hide(start, end);
            self.named = false;
        } else {
            self.named |= name_is_secret(piece);
        }
    }

    /// Leaves a reference as it is, and looks at what stands right before, within and after it.
    fn pass_reference(&mut self, reference: Reference<'_>, start: usize, at: usize) {
        let before = self.text.get(start..at).unwrap_or_default();
        if !before.is_empty() && self.named || value_is_secret(before) {
            self.hide(start, at);
        }
        if let Some((inner, default)) = reference.default
            && (self.named || name_is_secret(reference.name) || value_is_secret(default))
            && !default.is_empty()
        {
            self.hide(at + inner, at + inner + default.len());
        }
        self.passed = at + reference.length;
        let rest = &self.text[self.passed..];
        let is_name = name_is_secret(reference.name) && rest.starts_with([':', '=']);
        // The value may go on after it.
        let goes_on = pieces(rest).next().is_some_and(|(_, separates)| !separates);
        self.named = self.named && goes_on || is_name;
        self.prose = false;
    }
}

/// Replaces the user and password of every `scheme://user:password@host`.
fn mask_userinfo(text: String) -> String {
    const AFTER_SCHEME: &str = "://";
    if !text.contains(AFTER_SCHEME) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(scheme) = rest.find(AFTER_SCHEME) {
        let (before, after) = rest.split_at(scheme + AFTER_SCHEME.len());
        out.push_str(before);
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '"' | '?');
        let end = after.find(ends).unwrap_or(after.len());
        rest = match after[..end].rfind('@') {
            // `${USER}:${PASSWORD}` says neither.
            Some(at) if only_refers(&after[..at].replace("}:", "}")) => after,
            Some(at) => {
                out.push_str(MASK);
                &after[at..]
            }
            None => after,
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masking_keeps_the_rest_readable() {
        let check = |input: &str, expected: &str| assert_eq!(mask(input), expected);
        check("--token=abc --verbose", "--token=*** --verbose");
        check("token: \"abc\", name: x", "token: \"***\", name: x");
        check(
            "Authorization: Bearer abc def",
            "Authorization: Bearer *** def",
        );
        check("https://user:pw@host/path", "https://***@host/path");
        check(
            "http://a.b/c, then https://user:pw@host\nand smtp://u:p@x",
            "http://a.b/c, then https://***@host\nand smtp://***@x",
        );
        check("http://host\nmail me@home", "http://host\nmail me@home");
        check(
            "https://host/mcp?api_key=abc&x=1",
            "https://host/mcp?api_key=***&x=1",
        );
        check("npx -y ghp_0123456789abcdefghij", "npx -y ***");
        check("nothing here", "nothing here");
        check("put a token in the variable", "put a token in the variable");
        check("a token into the variable", "a token into the variable");
        check(
            "PAYSTACK_SECRET_KEY is not set",
            "PAYSTACK_SECRET_KEY is not set",
        );
        check(
            "missing API_KEY; check that it is installed",
            "missing API_KEY; check that it is installed",
        );
        check("API_KEY; hunter2 and more", "API_KEY; *** and more");
        check("API_KEY, hunter2", "API_KEY, ***");
        check("API_KEY: check", "API_KEY: ***");
        check("--token abc", "--token ***");
        check("token=in the", "token=*** the");
    }

    #[test]
    fn what_refers_to_a_variable_is_shown() {
        let check = |input: &str, expected: &str| assert_eq!(mask(input), expected);
        for reference in [
            "API_TOKEN: ${API_TOKEN}",
            "API_TOKEN: \"${API_TOKEN}\"",
            "headers: {Authorization: \"Bearer ${TOKEN}\", b: 1}",
            "--token=${env:TOKEN} --verbose",
            "token: ${input:api-key}",
            "token: ${{ secrets.TOKEN }}, more",
            "Authorization: Bearer {env:TOKEN}",
            "run ${API_TOKEN} and more",
            "password=${ONE}${OTHER}",
            "${MODE:-fast}",
            "https://${USER}:${PASSWORD}@host/path",
        ] {
            check(reference, reference);
        }
        check("token: ${TOKEN:-hush it}", "token: ${TOKEN:-***}");
        check("${TOKEN:-hush} more", "${TOKEN:-***} more");
        check("${A:-ghp_0123456789abcdefghij}", "${A:-***}");
        check("https://${USER}:hush@host", "https://***@host");
        check("token: ${TOKEN:-}", "token: ${TOKEN:-}");
        check("token: hush${TOKEN}", "token: ***${TOKEN}");
        check("token: ${TOKEN}hush more", "token: ${TOKEN}*** more");
        check("token: ${hush hush}", "token: ***{hush hush}");
        check("token: ${hush", "token: ***{hush");
        check("${API_TOKEN}=hush", "${API_TOKEN}=***");
        check("token: env hush", "token: *** hush");
        check("x\u{2028}env", "x\u{2028}env");
    }
}
