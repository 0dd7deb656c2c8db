use super::*;

fn env(name: &str) -> Option<String> {
    match name {
        "A" => Some("alpha".into()),
        "EMPTY" => Some(String::new()),
        "INPUT_API_KEY" => Some("asked".into()),
        _ => None,
    }
}

fn expand(text: &str, dialect: Dialect) -> Result<String, String> {
    Template::parse(text, dialect)
        .map_err(|e| e.to_string())?
        .expand(&env)
        .map(|s| s.expose().to_owned())
        .map_err(|e| e.to_string())
}

#[test]
fn each_dialect_has_its_own_spellings() {
    let check = |text: &str, dialect, expected: &str| {
        assert_eq!(
            expand(text, dialect).unwrap(),
            expected,
            "{text} in {dialect:?}"
        );
    };
    check("x${A}y", Dialect::Own, "xalphay");
    check("${env:A}", Dialect::Own, "alpha");
    check("${NOPE:-d}", Dialect::Own, "d");
    check("${EMPTY:-d}", Dialect::Own, "d");
    check("${EMPTY}", Dialect::Own, "");
    check("$${A} $A", Dialect::Own, "${A} $A");
    check("${A}${A:-x}", Dialect::Braces, "alphaalpha");
    check("${env:A}", Dialect::Braces, "${env:A}");
    check("$A", Dialect::Braces, "$A");
    check("${env:A}", Dialect::VsCode, "alpha");
    check(
        "${A} ${workspaceFolder}",
        Dialect::VsCode,
        "${A} ${workspaceFolder}",
    );
    check("${input:api-key}", Dialect::VsCode, "asked");
    check("{env:A} ${A}", Dialect::Opencode, "alpha ${A}");
    check("{other}", Dialect::Opencode, "{other}");
    check("$A/${A}/$1/$", Dialect::Shell, "alpha/alpha/$1/$");
    check("${A} $A {env:A}", Dialect::None, "${A} $A {env:A}");
    check("${A}${env:A}$A${x", Dialect::Either, "alphaalpha$A${x");
    check(
        "k ${{ secrets.A }} ${{secrets.org/team.A}}${A}",
        Dialect::Secrets,
        "k alpha alpha${A}",
    );
    check(
        "${{ other }} ${{ secrets.A",
        Dialect::Secrets,
        "${{ other }} ${{ secrets.A",
    );
    check("", Dialect::Own, "");
    check("überé ${A}", Dialect::Own, "überé alpha");
}

#[test]
fn an_unset_variable_names_itself() {
    assert_eq!(
        expand("${NOPE}", Dialect::Own).unwrap_err(),
        "the environment variable NOPE is not set"
    );
}

#[test]
fn a_broken_placeholder_of_our_own_is_an_error_and_elsewhere_text() {
    assert!(
        expand("${A", Dialect::Own)
            .unwrap_err()
            .contains("never closed")
    );
    assert!(
        expand("${a b}", Dialect::Own)
            .unwrap_err()
            .contains("not the name")
    );
    assert_eq!(expand("${a b}", Dialect::Braces).unwrap(), "${a b}");
}

#[test]
fn showing_masks_literals_that_are_secret() {
    let env_value = Template::parse("ghp_literal", Dialect::Own)
        .unwrap()
        .sensitive();
    assert_eq!(env_value.to_string(), "***");
    let header = Template::parse("Bearer ${A}", Dialect::Own)
        .unwrap()
        .sensitive();
    assert_eq!(header.to_string(), "Bearer ${A}");
    let header = Template::parse("Bearer hush${A}", Dialect::Own)
        .unwrap()
        .sensitive();
    assert_eq!(header.to_string(), "***${A}");
    let argument = Template::parse("--token=abc", Dialect::Own).unwrap();
    assert_eq!(format!("{argument:?}"), "\"--token=***\"");
    let default = Template::parse("${A:-hush}", Dialect::Own).unwrap();
    assert_eq!(default.to_string(), "${A:-***}");
}

#[test]
fn plain_secrets_are_noticed() {
    let check = |field: &str, text: &str, expected: bool| {
        let template = Template::parse(text, Dialect::Own).unwrap();
        assert_eq!(
            template.holds_plain_secret(field),
            expected,
            "{field}={text}"
        );
    };
    check("GITHUB_TOKEN", "abc", true);
    check("GITHUB_TOKEN", "${A}", false);
    check("GITHUB_TOKEN", "", false);
    check("Authorization", "Bearer ${A}", false);
    check("args", "ghp_0123456789abcdefghij", true);
    check("args", "--token=abc", true);
    check("args", "--token=${A}", false);
    check("url", "https://${A}:${B}@example.com", false);
    check("PATH", "/usr/bin", false);
}

#[test]
fn exact_text_reads_back_to_the_same_template() {
    for text in [
        "a${A}b", "${X:-y}", "$${A}", "$$${A}", "$$$${A}", "a$", "$", "plain", "",
    ] {
        let template = Template::parse(text, Dialect::Own).unwrap();
        let again = Template::parse(template.exact().expose(), Dialect::Own).unwrap();
        assert_eq!(again, template, "{text}");
    }
    let foreign = Template::parse("${A} $A", Dialect::None).unwrap();
    assert_eq!(foreign.exact().expose(), "$${A} $A");
    for text in ["${${A} $A", "$${${A}", "$$$", "${", "{${A}"] {
        let foreign = Template::parse(text, Dialect::None).unwrap();
        let again = Template::parse(foreign.exact().expose(), Dialect::Own).unwrap();
        assert_eq!(again, foreign, "{text}");
    }
}
