//! Type expressions and RTFS files from the command line.

use std::io::Write;
use std::process::Stdio;

use crate::home::Home;

fn from_schema(home: &Home, arguments: &[&str], schema: &str) -> (Option<i32>, String, String) {
    let mut all = vec!["types", "from-schema"];
    all.extend(arguments);
    let mut command = home.command(&all);
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(schema.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn a_schema_on_standard_input_becomes_a_type() {
    let home = Home::new();
    let schema = r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#;
    let (code, out, _) = from_schema(&home, &[], schema);
    assert_eq!(
        (code, out.as_str()),
        (Some(0), "[:map [:a {:optional true} :int]]\n")
    );
    let (_, out, _) = from_schema(&home, &["--dialect", "ccos", "--json"], schema);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["type"], "[:map [:a :int ?]]");
    let (code, _, err) = from_schema(&home, &[], "{ broken");
    assert_eq!(code, Some(1));
    assert!(err.contains("pipe a schema"), "{err}");
}

#[test]
fn files_are_checked_each_with_its_place() {
    let home = Home::new();
    home.write("work/good.rtfs", "(capability \"a.b\" :name \"x\")\n");
    home.write("work/bad.rtfs", "(capability \"a\"\n  :x (1 2)");
    let said = home.run(&["rtfs", "check", "good.rtfs", "--dialect", "ccos"]);
    assert_eq!(
        (said.code, said.out.as_str()),
        (Some(0), "✓ good.rtfs: 1 form\n")
    );
    let said = home.run(&["rtfs", "check", "good.rtfs", "bad.rtfs", "gone.rtfs"]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.out.contains("✗ bad.rtfs: line 1, column 1"),
        "{}",
        said.out
    );
    assert!(
        said.out.contains("✗ gone.rtfs: it is not there"),
        "{}",
        said.out
    );
    assert!(said.err.contains("2 of 3 files"), "{}", said.err);
}

#[test]
fn a_check_that_fails_is_one_json_value() {
    let home = Home::new();
    let said = home.run(&["rtfs", "check", "gone.rtfs", "--json"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert_eq!(said.json()["files"][0]["ok"], false);
    let said = home.run(&["rtfs", "check", "gone.rtfs"]);
    assert!(said.err.contains("the file cannot be read"), "{}", said.err);
}
