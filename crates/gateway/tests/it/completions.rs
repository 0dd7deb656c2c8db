//! Completions as a shell asks for them, and the manual as it is committed.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::home::Home;
use crate::stage::{reader, staged};

/// What is offered for the last of these words.
fn offered(home: &Home, words: &[&str]) -> Vec<String> {
    let mut all = vec!["--", "toolcrib"];
    all.extend(words);
    let output = home
        .command(&all)
        .env("TOOLCRIB_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_IFS", "\n")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn names_of_servers_tools_and_clients_are_completed() {
    let tools = json!([
        reader("look_up", &json!({})),
        reader("look_out", &json!({})),
        reader("write", &json!({}))
    ]);
    let home = staged(
        &tools,
        "",
        "  files: {command: x, tools: [{name: read, description: Reads}]}\n",
    );
    let check = |words: &[&str], expect: &[&str]| {
        assert_eq!(offered(&home, words), expect, "{words:?}");
    };
    check(&["tools", "st"], &["stage"]);
    check(&["inspect", "files", "r"], &["read"]);
    check(&["execute", "stage", "look"], &[]);
    home.run(&["cache", "warm"]);
    check(&["execute", "stage", "look"], &["look_up", "look_out"]);
    check(&["mcp", "inspect", "stage", "wr"], &["write"]);
    check(&["policy", "explain", "files:"], &["files:read"]);
    check(&["setup", "clau"], &["claude-desktop", "claude-code"]);
    check(&["export", "--to", "curs"], &["cursor"]);
    check(&["sea"], &["search"]);
    check(&["execute", "files:"], &["files:read"]);
    check(&["inspect", "fi"], &["files"]);
    check(&["export-rtfs", "st"], &["stage"]);
    check(&["audit", "tail", "--server", "st"], &["stage"]);
    check(&["audit", "search", "--tool", "files:"], &["files:read"]);
    check(&["approvals", "approve", "files:"], &["files:read"]);
    check(&["approve", "sta"], &["stage"]);
    assert!(offered(&home, &["search", "--"]).contains(&"--limit".to_owned()));
    home.configure("servers: 7\n");
    check(&["tools", "st"], &[]);
}

/// What bash offers at the end of a line, which it broke into these words.
fn bash(home: &Home, line: &str, words: &[&str]) -> Vec<String> {
    let script = home.run(&["completions", "bash"]);
    assert_eq!(script.code, Some(0), "{}", script.err);
    let script = home.write("toolcrib.bash", &script.out);
    let as_word = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    // Of a word behind an open quote, bash hands over what stands behind it.
    let last = as_word(words.last().unwrap().trim_start_matches([':', '"', '\'']));
    let quoted: Vec<String> = words.iter().map(|word| as_word(word)).collect();
    let driver = format!(
        "source '{}'\nCOMP_WORDBREAKS=$' \\t\\n\"\\'><=;|&(:'\nCOMP_LINE={}\nCOMP_POINT=${{#COMP_LINE}}\nCOMP_WORDS=({})\nCOMP_CWORD={}\n_toolcrib toolcrib {last} ''\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        script.display(),
        as_word(line),
        quoted.join(" "),
        words.len() - 1,
    );
    let driver = home.write("driver.bash", &driver);
    let output = std::process::Command::new("bash")
        .arg(driver)
        .current_dir(home.path("work"))
        .env("HOME", home.path(""))
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("TOOLCRIB_CONFIG")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| line.trim_end().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

#[test]
fn bash_completes_a_tool_behind_the_colon_at_which_it_breaks_words() {
    let home = Home::new();
    home.configure(
        "servers:\n  files: {command: x, tools: [{name: read, description: Reads}, {name: write, description: Writes}]}\n",
    );
    let check = |line: &str, words: &[&str], expect: &[&str]| {
        assert_eq!(bash(&home, line, words), expect, "{line}");
    };
    let explain = ["toolcrib", "policy", "explain"];
    check(
        "toolcrib policy explain files:re",
        &[&explain[..], &["files", ":", "re"]].concat(),
        &["read"],
    );
    check(
        "toolcrib policy explain files:",
        &[&explain[..], &["files", ":"]].concat(),
        &["read", "write"],
    );
    check(
        "toolcrib inspect files wr",
        &["toolcrib", "inspect", "files", "wr"],
        &["write"],
    );
    check("toolcrib sea", &["toolcrib", "sea"], &["search"]);
}

/// Names of tools as only a stranger gives them.
const STRANGE: [&str; 6] = [
    "x$(touch p)",
    "x';touch p;'",
    "x`touch p`",
    "x y",
    "x*",
    "x';touch p;'\u{202e}",
];

fn with_strange_tools() -> Home {
    let home = Home::new();
    let tools = STRANGE.map(|name| json!({"name": name, "description": "Does it"}));
    let servers = json!({"files": {"command": "x", "tools": tools}});
    home.configure(&json!({ "servers": servers }).to_string());
    home.write("work/xfile", "");
    home
}

#[test]
fn a_name_that_bash_completes_stands_for_itself_and_runs_nothing() {
    let home = with_strange_tools();
    for (line, words) in [
        (
            "toolcrib inspect files x",
            &["toolcrib", "inspect", "files", "x"][..],
        ),
        (
            "toolcrib policy explain files:x",
            &["toolcrib", "policy", "explain", "files", ":", "x"],
        ),
    ] {
        let offered = bash(&home, line, words);
        assert_eq!(offered.len(), STRANGE.len(), "{offered:?}");
        for (offered, name) in offered.iter().zip(STRANGE) {
            let run = std::process::Command::new("bash")
                .args(["-c", &format!("printf %s {offered}")])
                .current_dir(home.path("work"))
                .env("LC_ALL", "C.UTF-8")
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&run.stdout), name, "{offered}");
            assert!(!home.path("work/p").exists(), "{offered}");
        }
    }
    let line = r"toolcrib inspect files x\ ";
    let offered = bash(&home, line, &["toolcrib", "inspect", "files", r"x\ "]);
    assert_eq!(
        offered,
        [r"x\ y"],
        "what was quoted once is completed further"
    );
    for begun in ["\"x", "'x"] {
        let line = format!("toolcrib inspect files {begun}");
        let offered = bash(&home, &line, &["toolcrib", "inspect", "files", begun]);
        assert_eq!(offered, Vec::<String>::new(), "behind an open quote");
    }
}

#[test]
fn powershell_which_quotes_nothing_is_offered_plain_names_only() {
    let home = with_strange_tools();
    let offered = |words: &[&str]| {
        let output = home
            .command(&[&["--", "toolcrib"], words].concat())
            .env("TOOLCRIB_COMPLETE", "powershell")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(offered(&["inspect", "files", "x"]), "");
    assert!(offered(&["inspect", "fi"]).starts_with("files"));
}

#[test]
fn every_shell_has_its_script() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let said = home.run(&["completions", shell]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert!(
            said.out.contains("TOOLCRIB_COMPLETE"),
            "{shell}: {}",
            said.out
        );
        assert_eq!(
            home.run(&["completions", shell, "--json"]).json()["shell"],
            shell
        );
    }
    let said = home.run(&["completions", "dosh"]);
    assert_eq!(said.code, Some(1));
}

fn committed(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(path)
}

/// Whether the committed documents are to be written anew.
fn writes() -> bool {
    std::env::var_os("DOCUMENTS").is_some_and(|wish| wish == "write")
}

#[test]
fn the_committed_help_is_what_the_program_says() {
    let said = Home::new().run(&["reference"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    if writes() {
        std::fs::write(committed("cli.md"), &said.out).unwrap();
    }
    let there = std::fs::read_to_string(committed("cli.md")).unwrap_or_default();
    assert!(
        there == said.out,
        "docs/cli.md is stale; DOCUMENTS=write renews it"
    );
}

#[test]
fn every_command_that_does_something_has_examples() {
    let said = Home::new().run(&["reference", "--json"]).json();
    let chapter = said["chapter"].as_str().unwrap();
    let sections: Vec<&str> = chapter.split("\n## `").skip(1).collect();
    assert!(sections.len() > 40, "{}", sections.len());
    for section in sections {
        let (name, help) = section.split_once('`').unwrap();
        let is_leaf = !help.contains("\nCommands:\n");
        assert!(
            !is_leaf || help.contains("\nExamples:\n"),
            "{name} has no examples"
        );
        if let Some((_, examples)) = help.split_once("\nExamples:\n") {
            assert!(examples.contains("toolcrib "), "{name}: {examples}");
        }
    }
    assert!(
        chapter.contains("The call is checked, journalled and audited"),
        "what a command says at length"
    );
}

#[test]
fn the_committed_manual_is_what_the_program_says() {
    let home = Home::new();
    let fresh = home.path("man");
    let said = home.run(&["reference", "--man", fresh.to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let names = crate::home::names(&fresh);
    assert!(
        names.contains(&"toolcrib.1".to_owned()) && names.len() > 30,
        "{names:?}"
    );
    let there = committed("man");
    if writes() {
        let _ = std::fs::remove_dir_all(&there);
        std::fs::create_dir_all(&there).unwrap();
        for name in &names {
            std::fs::copy(fresh.join(name), there.join(name)).unwrap();
        }
    }
    assert_eq!(
        names,
        crate::home::names(&there),
        "docs/man is stale; DOCUMENTS=write renews it"
    );
    for name in names {
        let read = |folder: &Path| std::fs::read_to_string(folder.join(&name)).unwrap();
        assert!(
            read(&fresh) == read(&there),
            "docs/man/{name} is stale; DOCUMENTS=write renews it"
        );
    }
}
