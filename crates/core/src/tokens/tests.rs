use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

fn real(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

fn whole(piece: &str) -> usize {
    bpe_openai::o200k_base().bpe.count(piece.as_bytes())
}

#[track_caller]
fn check(text: &str) {
    let (estimate, real) = (at_most(text), real(text));
    assert!(estimate >= real, "{estimate} < {real}: {text:?}");
}

fn marks() -> impl Iterator<Item = char> {
    ('!'..='~').filter(|c| !c.is_ascii_alphanumeric())
}

#[test]
fn every_word_of_the_table_is_one_token_and_two_after_a_mark() {
    for word in WORDS.iter() {
        assert_eq!((whole(word), whole(&format!(" {word}"))), (1, 1), "{word}");
        if word.bytes().any(|b| b.is_ascii_uppercase()) {
            continue;
        }
        let capital = format!("{}{}", word[..1].to_ascii_uppercase(), &word[1..]);
        assert_eq!(whole(&capital), 1, "{capital}");
        assert_eq!(whole(&format!(" {capital}")), 1, "{capital}");
        for mark in marks() {
            assert!(whole(&format!("{mark}{word}")) <= 2, "{mark}{word}");
            assert!(whole(&format!("{mark}{capital}")) <= 2, "{mark}{capital}");
        }
    }
}

#[test]
fn every_spaced_word_of_the_table_costs_what_it_says() {
    for word in SPACED_WORDS.iter() {
        let capital = format!("{}{}", word[..1].to_ascii_uppercase(), &word[1..]);
        assert_eq!(whole(&format!(" {word}")), 1, "{word}");
        for form in [(*word).to_owned(), capital.clone(), format!(" {capital}")] {
            assert!(whole(&form) <= 2, "{form}");
        }
        for mark in marks() {
            assert!(whole(&format!("{mark}{word}")) <= 3, "{mark}{word}");
            assert!(whole(&format!("{mark}{capital}")) <= 3, "{mark}{capital}");
        }
    }
}

#[test]
fn every_piece_of_the_table_costs_what_it_says() {
    for (piece, cost) in PIECES.iter() {
        assert!(whole(piece) <= *cost, "{piece:?}");
    }
}

#[test]
fn letters_numbers_spaces_and_lines_are_joined_as_stated() {
    for first in 'a'..='z' {
        for second in 'a'..='z' {
            let pair = format!("{first}{second}");
            let loose = LOOSE_PAIRS.iter().any(|p| p[..] == *pair.as_bytes());
            assert_eq!(whole(&pair) == 2, loose, "{pair}");
        }
    }
    for mark in JOINED_MARKS {
        for letter in ('a'..='z').chain('A'..='Z') {
            assert_eq!(whole(&format!("{}{letter}", char::from(*mark))), 1);
        }
    }
    for number in 0..1000 {
        for digits in [
            format!("{number}"),
            format!("{number:02}"),
            format!("{number:03}"),
        ] {
            assert_eq!(whole(&digits), 1, "{digits}");
        }
    }
    assert!((1..=SPACES_JOINED).all(|n| whole(&" ".repeat(n)) == 1));
    assert!((1..=LINES_JOINED).all(|n| whole(&"\n".repeat(n)) == 1));
}

#[test]
fn texts_of_every_kind_are_never_counted_too_low() {
    for text in [
        "",
        " ",
        "  a",
        "a\n\nb.\n\n c\r\n",
        "don't we'll HE'LL can'T",
        "HTTPServer maxResults createIssue XMLHttpRequest qzjxvk",
        "日本語のテキスト と English、mixed — “quoted” …",
        "naïve café – déjà vu",
        "é's é'Re x's\u{301} Ünder_score É\"foo\" ١٢٣456 12٣4 ",
        "cut…\",\"more\":[1] →x ’s it’s “a” …",
        " }} \u{a0}}} é }} é \u{2028}x é (x é ~x",
        "🙂🙂 ok 👩‍👩‍👧",
        "a\u{b}b\u{c} \tc\t\td",
        "!!!???###$$$ ///\n\n/ .\r\n/x",
        "\u{1}\u{2} \u{7f}",
        "1234567890 3.14159 1e-9",
    ] {
        check(text);
    }
    for n in [1, 2, 3, 40, 79, 80, 81, 160, 500] {
        for unit in [
            " ", "\n", "-", "=", "a", "A", "é", "\t", "\"", "{", "zq", "Q",
        ] {
            check(&unit.repeat(n));
            check(&format!("x{}y", unit.repeat(n)));
        }
    }
}

#[test]
fn the_count_of_written_text_is_near_the_truth() {
    let mut prose = String::new();
    for file in [
        include_str!("../../../../ARCHITECTURE.md"),
        include_str!("../../../../CONTRIBUTING.md"),
        include_str!("../../../../README.md"),
    ] {
        check(file);
        let paragraphs = file
            .split("\n\n")
            .filter(|p| !p.starts_with(['|', '`', ' ']));
        for paragraph in paragraphs {
            let _ = writeln!(prose, "{paragraph}");
        }
    }
    let json = include_str!("tests/answer.json").trim_end();
    check(json);
    for (text, most) in [(prose.as_str(), 1.5), (json, 1.3)] {
        let (estimate, real) = (at_most(text), real(text));
        #[expect(clippy::cast_precision_loss, reason = "counts of a short text")]
        let ratio = estimate as f64 / real as f64;
        assert!(ratio < most, "{estimate} for {real}: {ratio:.2}");
    }
}

#[test]
fn slashes_after_a_mark_and_line_ends_are_not_counted_with_what_follows() {
    for text in [
        ":\r/A",
        "}\n/delete",
        ":\n//a\n/b",
        ":\r\n/:A",
        ":\n/\n\n/x y",
        ": \n/A",
    ] {
        check(text);
    }
}

#[test]
fn what_is_shorter_than_the_budget_in_bytes_fits() {
    assert!(fits("zqzq", 4));
    assert!(fits("create an issue", 3));
    assert!(!fits("create an issue", 2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn ascii_is_never_counted_too_low(text in "[ -~\n\r\t]{0,60}") {
        prop_assert!(at_most(&text) >= real(&text));
    }

    #[test]
    fn lines_and_slashes_are_never_counted_too_low(text in "([:}\"/]{1,2}|[\n\r/]{1,3}|[ \t]|[A-Z]|[a-z]{1,4}|[0-9]){0,24}") {
        prop_assert!(at_most(&text) >= real(&text));
    }

    #[test]
    fn words_and_marks_are_never_counted_too_low(text in "([a-z]{1,9}|[A-Z][a-z]{0,8}|[A-Z]{1,4}|[0-9]{1,5}|[ ]{1,3}|[\"':,{}\\[\\]().\\\\/_-]{1,5}|\n){0,20}") {
        prop_assert!(at_most(&text) >= real(&text));
    }

    #[test]
    fn any_text_is_never_counted_too_low(text in "(\\PC|[a-zA-Z ]{1,6}|[\u{80}-\u{2fff}]|[\u{2010}-\u{2030}]|'(s|re|ll)|[ .,\"{}()]{1,3}){0,40}") {
        prop_assert!(at_most(&text) >= real(&text));
    }

    #[test]
    fn joining_texts_is_never_counted_too_low(words in prop::collection::vec(prop::sample::select(WORDS.iter().chain(SPACED_WORDS.iter()).copied().collect::<Vec<_>>()), 1..30), gaps in prop::collection::vec("[ -/:-@\\[-`{-~]{0,3}", 30)) {
        let text: String = words.iter().zip(&gaps).flat_map(|(word, gap)| [*word, gap.as_str()]).collect();
        prop_assert!(at_most(&text) >= real(&text));
    }
}
