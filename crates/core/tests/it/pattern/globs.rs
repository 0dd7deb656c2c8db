use toolcrib_core::pattern::{GiveUp, Outcome, Pattern, Problem, matches};

fn check(pattern: &str, matching: &[&str], other: &[&str]) {
    let compiled = Pattern::new(pattern).unwrap();
    for name in matching {
        assert_eq!(
            compiled.test(None, name),
            Outcome::Yes,
            "{pattern} {name:?}"
        );
    }
    for name in other {
        assert_eq!(compiled.test(None, name), Outcome::No, "{pattern} {name:?}");
    }
}

#[test]
fn a_star_matches_any_run_of_characters() {
    check("*github*", &["github", "my_github_tool"], &["git_hub", ""]);
    check(
        "github_*",
        &["github_", "github_x"],
        &["github", "a_github_x"],
    );
    check("*_issue", &["create_issue", "_issue"], &["create_issues"]);
    check(
        "a*b*c",
        &["abc", "axxbyyc", "abcbc"],
        &["acb", "ab", "abcd"],
    );
    check("a**b", &["ab", "a*b", "axxb"], &["a", "b"]);
    check("*rm*", &["transform", "rm"], &["remove"]);
    check("ab*ba", &["abba", "ab_ba"], &["aba"]);
    check("*", &["x", "", "any thing"], &[]);
}

#[test]
fn a_question_mark_matches_one_character() {
    check(
        "create?issue",
        &["create_issue", "create-issue"],
        &["createissue", "create__issue"],
    );
    check("?", &["x", "é", "😀"], &["", "xy"]);
}

#[test]
fn classes_match_one_character() {
    check("[cb]at", &["cat", "bat", "CAT"], &["hat", "at", "cbat"]);
    check("[a-c]1", &["a1", "b1", "C1"], &["d1", "-1"]);
    check("[!c]at", &["bat"], &["cat", "Cat", "at"]);
    check("[^c]at", &["bat"], &["cat"]);
    check("[]x]y", &["]y", "xy"], &["y"]);
    check("[!]]y", &["xy"], &["]y"]);
    check("[a-]", &["a", "-"], &["b"]);
    check("[-a]", &["a", "-"], &["b"]);
    check("[a-ce-g]", &["b", "f"], &["d"]);
    check("x[*]", &["x*"], &["xy"]);
    check("[/]users/*", &["/users/7"], &["users/7"]);
    check("[a^]", &["^", "a"], &["b"]);
}

#[test]
fn braces_match_one_of_several() {
    check(
        "{read,write}_file",
        &["read_file", "WRITE_file"],
        &["del_file", "(read|write)_file"],
    );
    check("x{,y}z", &["xz", "xyz"], &["xyyz"]);
    check("{a,b{c,d}}", &["a", "bc", "bd"], &["b", "ac"]);
    check("{*_a,b?}", &["x_a", "bz"], &["b", "a"]);
    check("{[,],x}", &[",", "x"], &["["]);
    check("{a,b}{c,d}", &["ac", "bd"], &["ab"]);
}

#[test]
fn what_is_no_wildcard_stands_for_itself() {
    for literal in [
        "a.b",
        "a+b",
        "a(b)",
        "a\\b",
        "a$",
        "^a",
        "[abc",
        "a]",
        "{id}",
        "{a,b",
        "a}",
        "a,b",
        "[]",
        "[!]",
        "tool-name.v2",
        "/a",
        "/",
        "a|b",
        "{}",
        "{a{b}c}",
    ] {
        check(literal, &[literal], &["a", "b", "ab", "abc", "x", "axb"]);
    }
    check("{a{b,c}}", &["{ab}", "{ac}"], &["ab"]);
    check("", &[""], &["x"]);
    check("\\*", &["\\", "\\x"], &["*"]);
}

#[test]
fn globs_are_anchored_and_ignore_case() {
    check("github", &["github", "GitHub"], &["githubx", "xgithub"]);
    check("*ïcode*", &["ÜNÏCODE"], &["unicode"]);
    check("{x,ΣΑΣ}", &["σας"], &["σα"]);
    check("*kelvin", &["\u{212a}elvin"], &[]);
    check("STRASSE", &["strasse"], &["straße"]);
}

#[test]
fn wildcards_stop_at_line_breaks_and_give_up() {
    for (pattern, name) in [
        ("list*foo", "list\nfoo"),
        ("list?foo", "list\rfoo"),
        ("*", "a\u{2028}b"),
        ("*github*", "delete\nx"),
    ] {
        assert!(!matches(name, &[pattern]).unwrap());
        let outcome = Pattern::new(pattern).unwrap().test(None, name);
        assert_eq!(outcome, Outcome::GaveUp(GiveUp::LineBreak), "{pattern}");
    }
    check("list\nfoo", &["list\nfoo"], &["listfoo"]);
    check("a\nb*", &["a\nb", "a\nbc"], &["ab"]);
    check("exact", &["exact"], &["exact\n"]);
}

#[test]
fn a_name_beyond_the_limit_is_not_tried() {
    let long = "x".repeat(1025);
    for pattern in ["*", "x*", "/x/", "//"] {
        let outcome = Pattern::new(pattern).unwrap().test(None, &long);
        assert_eq!(outcome, Outcome::GaveUp(GiveUp::NameTooLong), "{pattern}");
        assert!(!matches(&long, &[pattern]).unwrap());
    }
    assert!(matches(&long[1..], &["x*"]).unwrap());
}

#[test]
fn a_glob_with_a_colon_is_also_tried_on_the_qualified_name() {
    let test = |pattern: &str, server, tool| Pattern::new(pattern).unwrap().test(server, tool);
    let yes = Outcome::Yes;
    assert_eq!(test("github:create_*", Some("github"), "create_issue"), yes);
    assert_eq!(test("GitHub:{get,list}_?", Some("github"), "get_x"), yes);
    assert_eq!(test("*:delete*", Some("any"), "delete_x"), yes);
    assert_eq!(test("ns:x", Some("s"), "ns:x"), yes);
    assert_eq!(test("github:x", Some("gitlab"), "x"), Outcome::No);
    assert_eq!(test("github:x", None, "x"), Outcome::No);
    assert_eq!(test("github*", Some("github"), "x"), Outcome::No);
    assert_eq!(test("/github:x/", Some("github"), "x"), Outcome::No);
}

#[test]
fn a_bad_glob_names_its_place() {
    let error = Pattern::new("!x[b-dz-a]").unwrap_err();
    assert_eq!(error.pattern, "!x[b-dz-a]");
    assert_eq!(error.offset, 6);
    assert_eq!(
        error.problem,
        Problem::RangeOutOfOrder { from: 'z', to: 'a' }
    );
    assert_eq!(
        error.to_string(),
        "pattern `!x[b-dz-a]` is not valid at character 7: \
         the range `z-a` is in the wrong order, write `a-z`"
    );
}

#[test]
fn hostile_globs_end_in_an_error_or_a_quick_answer() {
    let problem = |pattern: &str| Pattern::new(pattern).unwrap_err().problem;
    assert_eq!(problem(&"x".repeat(4097)), Problem::TooLong { bytes: 4097 });
    let nested = format!("{}x{}", "{a,".repeat(60), "}".repeat(60));
    assert_eq!(problem(&nested), Problem::TooDeep);
    let message = Pattern::new(&"é".repeat(3000)).unwrap_err().to_string();
    assert!(message.chars().count() < 200, "{message}");

    let name = "a".repeat(1000);
    check(&"*a".repeat(500), &[&name], &["b"]);
    check(&format!("{}b", "a*".repeat(500)), &[], &[&name]);
    check(&format!("{}b", "{a,aa}".repeat(500)), &[], &[&name]);
    check(&"{".repeat(4000), &[], &[&name]);
    check(&"[".repeat(4000), &[], &[&name]);
}
