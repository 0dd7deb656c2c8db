use toolcrib_core::pattern::{GiveUp, Outcome, Pattern, Problem};

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
        assert_ne!(
            compiled.test(None, name),
            Outcome::Yes,
            "{pattern} {name:?}"
        );
    }
}

#[test]
fn slashes_make_a_regular_expression() {
    check("/^create_/", &["create_issue"], &["recreate_", "Create_x"]);
    check("/(read|write)/", &["read_file", "x_write"], &["delete"]);
    check(
        "/^fs_(read|write)$/",
        &["fs_read"],
        &["fs_readx", "fs_read\n"],
    );
    check("//", &["anything", ""], &[]);
    check("/a/b/", &["xa/b"], &["ab"]);
    check("/|x/", &["", "y"], &[]);
}

#[test]
fn flags_after_the_closing_slash() {
    check(
        "/github.*issue/i",
        &["GitHub_Issue", "github_ISSUE_x"],
        &["github"],
    );
    check("/^[A-Z]+$/", &["UPPER"], &["upper"]);
    check("/^[A-Z]+$/g", &["UPPER"], &["upper"]);
    check("/issue/gi", &["ISSUE"], &[]);
    check("/b/y", &["b", "bc"], &["ab"]);
    check("/a.b/", &["axb"], &["a\nb"]);
    check("/a.b/s", &["a\nb"], &["ab"]);
    check("/^b$/m", &["b", "a\nb", "a\r\nb\rc", "b\u{2028}"], &["ab"]);
    check("/x/dgimsuy", &["X"], &["y"]);
    check("/(?i:a)B/", &["AB", "aB"], &["ab"]);
    check("/(?-i:a)b/i", &["aB"], &["Ab"]);
    check("/(?s:.)(?m-s:.$)/", &["\nx\ny"], &["\n\n"]);
}

#[test]
fn word_boundaries_know_ascii_words_as_javascript_does() {
    check(
        r"/\b(create|update)\b/",
        &["create", "create issue", "x-update"],
        &["create_issue", "recreate"],
    );
    check(
        r"/\b(read|list)\b/i",
        &["READ file", "énonlist é-read"],
        &["read_file"],
    );
    check(r"/é\bx/", &["éx"], &[]);
    check(r"/a\Bb/", &["ab"], &["a b"]);
    check(r"/(?=.)\bx/", &["éx", "x", "-x"], &["ax"]);
    check(r"/(?=.)\Bx/", &["ax"], &["x", "-x"]);
}

#[test]
fn look_around_and_references() {
    check(r"/^(?!.*delete).*$/", &["create"], &["x_delete_y"]);
    check(r"/(?<=get_)x/", &["get_x"], &["set_x"]);
    check(r"/(?<!get_)x/", &["set_x"], &["get_x"]);
    check(r"/(?<=g[a-z]*_)x/", &["get_x"], &["set_x"]);
    check(r"/a(?=b)/", &["ab"], &["ac"]);
    check(r"/^(\w+)_\1$/", &["go_go"], &["go_no"]);
    check(r"/^(\w+)_\1$/i", &["go_GO"], &["go_no"]);
    check(r"/^(?<a>x+)-\k<a>$/", &["xx-xx"], &["xx-x"]);
    check(r"/^(?:(a)|b)\1c/", &["aac", "bc"], &["ac"]);
    check(r"/^\1(a)$/", &["a"], &["aa"]);
    check(r"/^(a\1)$/", &["a"], &["aa"]);
    check(r"/^(x)(y)(z)\2\x310$/", &["xyzy10"], &["xyz10"]);
    check(r"/^(?=a)*b/", &["b"], &["a"]);
    check(r"/^(?=a)+b/", &[], &["b", "ab"]);
}

#[test]
fn classes_and_escapes() {
    check(r"/^\d+$/", &["123"], &["١٢٣", "12a"]);
    check(r"/^\w+$/", &["a_1"], &["é", "a-b"]);
    check(r"/^\W$/i", &["-", "é"], &["s", "k", "S", "_"]);
    check(r"/^[\W]$/i", &["-"], &["s", "k"]);
    check(r"/^\s$/", &[" ", "\u{a0}", "\u{feff}"], &["x"]);
    check(r"/^[\S\d]$/", &["x"], &[" "]);
    check(r"/^\D$/", &["x"], &["1"]);
    check(r"/^[^a-c]$/i", &["d"], &["A"]);
    check(r"/^[[&&~~]+$/", &["[&~"], &["]"]);
    check(r"/^[\d-x]+$/", &["1-x"], &["a"]);
    check(r"/^[a-\d]+$/", &["a-1"], &["b"]);
    check(r"/^[a-]$/", &["-"], &["b"]);
    check(r"/^[\b]$/", &["\u{8}"], &["b"]);
    check(r"/[]/", &[], &["", "x"]);
    check(r"/^[^]$/", &["\n", "x"], &["xy"]);
    check(r"/^\/\.\-\$\_$/", &["/.-$_"], &["x"]);
    check(r"/^\t\n\v\f\r\0$/", &["\t\n\u{b}\u{c}\r\0"], &[]);
    check(r"/^\cJ\x41\u0042\u{43}\ud83d\ude00$/", &["\nABC😀"], &[]);
    check(r"/^\p{Lu}\P{L}[\p{Greek}]$/", &["A1α"], &["a1α", "Abα"]);
    check(r"/^a{2}b{1,}c{0,1}$/", &["aab", "aabbc"], &["ab", "aabcc"]);
    check(r"/^a{2,}$/", &["aa", "aaa"], &["a"]);
    check(r"/^a{,2}x{$/", &["a{,2}x{"], &["aa"]);
    check(r"/^a+?b*?c??]}$/", &["a]}", "abc]}"], &["b]}"]);
}

#[test]
fn a_bad_regular_expression_says_what_and_where() {
    for (pattern, offset, problem) in [
        ("/a/b", 3, Problem::UnknownFlag('b')),
        ("/users/*", 7, Problem::UnknownFlag('*')),
        ("/é/ii", 4, Problem::RepeatedFlag('i')),
        ("/x(/", 2, Problem::UnclosedGroup),
        ("!/x(/", 3, Problem::UnclosedGroup),
        ("/x)/", 2, Problem::UnopenedGroup),
        ("/éé[a/", 3, Problem::UnclosedClass),
        ("/[a-/", 1, Problem::UnclosedClass),
        ("/(?P<n>x)/", 1, Problem::UnknownGroup),
        ("/(?i--:x)/", 1, Problem::UnknownGroup),
        ("/(?<1>x)/", 4, Problem::BadGroupName),
        (r"/(?<n>x)\k/", 8, Problem::BadGroupName),
        (
            "/(?<n>x)(?<n>y)/",
            11,
            Problem::DuplicateGroupName("n".into()),
        ),
        ("/*a/", 1, Problem::NothingToRepeat),
        ("/a**/", 3, Problem::NothingToRepeat),
        ("/^*/", 2, Problem::NothingToRepeat),
        ("/{2}/", 1, Problem::NothingToRepeat),
        ("/(?<=a)+/", 7, Problem::NothingToRepeat),
        ("/a{3,2}/", 2, Problem::RepeatOutOfOrder),
        (
            "/[z-a]/",
            2,
            Problem::RangeOutOfOrder { from: 'z', to: 'a' },
        ),
        (r"/a\/", 2, Problem::TrailingBackslash),
        (r"/a\A/", 2, Problem::BadEscape("A".into())),
        (r"/\x4/", 1, Problem::BadEscape("x4".into())),
        (r"/\u{110000}/", 1, Problem::BadEscape("u{110000}".into())),
        (r"/\ud83d/", 1, Problem::BadEscape("ud83d".into())),
        (
            r"/\ud83d\u0041/",
            1,
            Problem::BadEscape(r"ud83d\u0041".into()),
        ),
        (r"/\c1/", 1, Problem::BadEscape("c".into())),
        (r"/\07/", 1, Problem::BadEscape("0".into())),
        (r"/\pL/", 1, Problem::BadEscape("p".into())),
        (r"/\p{Nope}/", 1, Problem::UnknownProperty("Nope".into())),
        (r"/(x)\2/", 4, Problem::UnknownReference("2".into())),
        (r"/(?<n>x)\k<m>/", 8, Problem::UnknownReference("m".into())),
        ("/a{99999}/", 1, Problem::TooLarge),
        ("/((a{200}){200}){200}/", 2, Problem::TooLarge),
    ] {
        let error = Pattern::new(pattern).unwrap_err();
        assert_eq!(
            (error.offset, &error.problem),
            (offset, &problem),
            "{pattern}"
        );
        assert!(
            error
                .to_string()
                .starts_with(&format!("pattern `{pattern}`")),
            "{error}"
        );
    }
}

#[test]
fn bombs_are_refused_or_bounded() {
    let problem = |pattern: &str| Pattern::new(pattern).unwrap_err().problem;
    let deep = format!("/{}x{}/", "(".repeat(60), ")".repeat(60));
    assert_eq!(problem(&deep), Problem::TooDeep);
    for large in [
        r"/(\p{L}{100}){100}/",
        r"/\p{L}{300}/",
        r"/(?=x)\p{L}{300}/",
        "/a{15000}b{15000}/",
    ] {
        assert_eq!(problem(large), Problem::TooLarge, "{large}");
    }
    assert!(matches!(
        problem(r"/(?<=(a*)\1)b/"),
        Problem::Unsupported(_)
    ));

    let name = format!("{}b", "a".repeat(60));
    check("/^(a+)+$/", &[], &[&name]);
    check("/^(a|a)*$/", &[], &[&name]);
    let outcome = Pattern::new("/^(?:a(?=[ab])|a)*[^b]$/")
        .unwrap()
        .test(None, &name);
    assert_eq!(outcome, Outcome::GaveUp(GiveUp::Steps));
}

#[test]
fn a_dot_that_a_line_break_stops_gives_up() {
    let test = |pattern: &str, name| Pattern::new(pattern).unwrap().test(None, name);
    assert_eq!(
        test("/^.*delete/", "x\ndelete"),
        Outcome::GaveUp(GiveUp::LineBreak)
    );
    assert_eq!(test("/delete/", "x\ndelete"), Outcome::Yes);
    assert_eq!(test("/^x$/", "x\ndelete"), Outcome::No);
    assert_eq!(test("/^.*delete/s", "x\ndelete"), Outcome::Yes);
}
