//! How the program is compiled for those who use it.

use toml::Table;

use crate::workspace;

fn release(manifest: &str) -> Table {
    let manifest: Table = manifest.parse().unwrap();
    manifest["profile"]["release"].as_table().unwrap().clone()
}

/// Whether cargo takes the symbols out of the program: a section of the program's own package would undo that.
fn is_stripped(release: &Table) -> bool {
    let sections = release.get("package").and_then(toml::Value::as_table);
    release["strip"].as_bool() == Some(true)
        && sections.is_none_or(|sections| !sections.contains_key("toolcrib"))
}

#[test]
fn the_release_is_small() {
    let manifest = std::fs::read_to_string(workspace::root().join("Cargo.toml")).unwrap();
    let release = release(&manifest);
    assert_eq!(release["lto"].as_str(), Some("thin"));
    assert!(
        is_stripped(&release),
        "the released program keeps its symbols"
    );
}

#[test]
fn a_section_of_the_program_undoes_the_stripping() {
    let base = "[profile.release]\nstrip = true\n";
    assert!(is_stripped(&release(base)));
    let own = "[profile.release.package.toolcrib]\nopt-level = 3\n";
    assert!(!is_stripped(&release(&format!("{base}{own}"))));
}
