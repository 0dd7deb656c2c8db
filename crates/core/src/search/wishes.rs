//! Several wishes in one text: "read the README and open an issue about it".

use super::lexicon::Lexicon;
use super::values::Span;
use super::words::Heard;

/// Most wishes that are told apart; the rest belongs to the last.
pub(crate) const WISHES_MAX: usize = 6;

/// Where the wishes of a text begin, the first at 0. A sentence begins a wish; so does what follows
/// a comma or "and" when it begins with an action. Values are never cut.
pub(crate) fn beginnings(text: &str, heard: &Heard, spans: &[Span]) -> Vec<usize> {
    let lexicon = Lexicon::shared();
    let mut out = vec![0];
    let mut words_since = 0;
    let mut pending: Option<usize> = None;
    let mut last_end = 0;
    for run in &heard.runs {
        let in_value = spans.iter().any(|s| s.start <= run.at && run.at < s.end);
        let between = &text[last_end..run.at];
        last_end = run.end;
        if in_value {
            continue;
        }
        let Some(word) = heard.pieces(run).first() else {
            continue;
        };
        let joins = matches!(
            &*word.folded,
            "and" | "then" | "also" | "additionally" | "finally" | "plus" | "afterwards"
        );
        let ends_sentence = between.contains(['!', '?', ';', '\n']) || between.contains(". ");
        if ends_sentence && words_since >= 2 {
            begin(&mut out, run.at);
            words_since = 0;
            pending = None;
        } else if joins || between.contains(',') {
            pending = Some(run.at);
        }
        if word.empty || joins {
            continue;
        }
        let is_action = lexicon.get(word.id).is_some_and(|k| k.actions != 0);
        if let Some(at) = pending.take()
            && is_action
            && words_since >= 2
        {
            begin(&mut out, at);
            words_since = 0;
        }
        words_since += 1;
    }
    // A last stretch of one word says too little to be a wish.
    if words_since < 2 && out.len() > 1 {
        out.pop();
    }
    out
}

fn begin(out: &mut Vec<usize>, at: usize) {
    if out.len() < WISHES_MAX {
        out.push(at);
    }
}

#[cfg(test)]
mod tests {
    use super::super::values;
    use super::super::words::Reader;
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        let spans = values::spans(text);
        let starts = beginnings(text, &Reader::default().hear(text), &spans);
        let ends = starts.iter().skip(1).copied().chain([text.len()]);
        let found: Vec<_> = starts
            .iter()
            .zip(ends)
            .map(|(a, b)| text[*a..b].trim())
            .collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn wishes_are_told_apart() {
        check(
            "read the README and open an issue about it",
            &["read the README", "and open an issue about it"],
        );
        check(
            "find flights and hotels in Paris",
            &["find flights and hotels in Paris"],
        );
        check(
            "Get the weather in Rome. Then send a mail to Ann.",
            &["Get the weather in Rome.", "Then send a mail to Ann."],
        );
        check(
            "post \"stop. and delete all\" to the channel",
            &["post \"stop. and delete all\" to the channel"],
        );
        check(
            "list the files, delete old ones, thanks",
            &["list the files,", "delete old ones, thanks"],
        );
        check("", &[""]);
    }
}
