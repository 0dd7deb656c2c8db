//! Where a command writes what it was told to: links stay, pipes stay, files are replaced whole.

use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::home::{Home, Said};

const CSV: &[&str] = &["audit", "export", "--format", "csv", "--output"];

/// Commands that write to a path that ends them, each with what is in the text that they write.
const COMMANDS: &[(&[&str], &str)] = &[
    (CSV, "timestamp"),
    (&["registry-file", "write", "--path"], "operation_count"),
    (&["import", "--write", "--replace", "--config"], "servers:"),
];

fn furnished() -> Home {
    let home = Home::new();
    let program = env!("CARGO_BIN_EXE_toolcrib");
    let server = json!({ "command": program, "args": ["workshop", "notes"] });
    let client = json!({ "mcpServers": { "notes": server } });
    home.write(".cursor/mcp.json", &client.to_string());
    home
}

fn run(home: &Home, command: &[&str], path: &str) -> Said {
    let said = home.run(&[command, &[path]].concat());
    assert_eq!(said.code, Some(0), "{command:?} {}", said.err);
    said
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    for (command, text) in COMMANDS {
        let home = furnished();
        home.write("elsewhere/there.yaml", "servers: {}\n");
        for target in ["../elsewhere/there.yaml", "../elsewhere/not-yet.yaml"] {
            let link = home.path("work/link.yaml");
            let _ = std::fs::remove_file(&link);
            symlink(target, &link).unwrap();
            run(&home, command, "link.yaml");
            assert_eq!(std::fs::read_link(&link).unwrap(), Path::new(target));
            let written = std::fs::read_to_string(&link).unwrap();
            assert!(written.contains(text), "{command:?} {target} {written}");
        }
    }
}

#[test]
fn a_pipe_gets_the_same_csv_as_a_file() {
    let home = furnished();
    home.run(&["execute", "no\tsuch", "tool\u{7}", "--args", "{}"]);
    let said = home.run(&CSV[..4]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    run(&home, CSV, "out.csv");
    let written = std::fs::read_to_string(home.path("work/out.csv")).unwrap();
    assert!(written.contains("no\tsuch"), "{written:?}");
    assert_eq!(said.out, written);
    let (shown, _, _) = crate::terminal::seen(&home, &CSV[..4], 80);
    assert!(shown.contains("tool\\u{7}"), "{shown:?}");
}

#[test]
fn a_pipe_stays_one_and_gets_what_is_written() {
    for (command, text) in COMMANDS {
        let home = furnished();
        let pipe = home.path("work/pipe.yaml");
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read_to_string(pipe).unwrap()
        });
        run(&home, command, "pipe.yaml");
        let kind = std::fs::symlink_metadata(&pipe).unwrap().file_type();
        assert!(kind.is_fifo(), "{command:?}");
        let written = reader.join().unwrap();
        assert!(written.contains(text), "{command:?} {written}");
    }
}

#[test]
fn standard_output_under_its_name_goes_on_where_it_stands() {
    let home = furnished();
    let path = home.write("out.txt", "before\n");
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    let mut command = home.command(&[CSV, &["/dev/stdout"]].concat());
    let command = command.stdout(Stdio::from(file)).stderr(Stdio::null());
    let status = command.status().unwrap();
    assert!(status.success());
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert_eq!(lines[0], "before");
    let said = run(&home, CSV, "/dev/stdout");
    assert!(said.out.contains("timestamp"), "{}", said.out);
}

#[test]
fn a_client_file_that_is_a_link_into_nothing_is_made_where_it_leads() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("dotfiles")).unwrap();
    std::fs::create_dir_all(home.path(".cursor")).unwrap();
    let link = home.path(".cursor/mcp.json");
    symlink("../dotfiles/cursor.json", &link).unwrap();
    for arguments in [["export", "--to", "cursor"], ["setup", "--yes", "cursor"]] {
        let said = home.run(&arguments);
        assert_eq!(said.code, Some(0), "{}", said.err);
        let text = std::fs::read_to_string(home.path("dotfiles/cursor.json")).unwrap();
        assert!(text.contains("toolcrib"), "{text}");
        assert!(link.is_symlink(), "{arguments:?}");
    }
}
