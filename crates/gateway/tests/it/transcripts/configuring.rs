//! Configurations: made, shown, checked, trusted, and those of clients.

use super::finding::NOTES;
use super::screen::{Screen, check};
use crate::home::Home;
use crate::terminal::Input;

/// The file of a client.
const CURSOR: &str = ".cursor/mcp.json";
/// One server in it.
const ONE: &str = "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a-server\"}\n  }\n}\n";

#[test]
fn configuring() {
    check("configuring", |screen| {
        let home = Home::new();
        home.configure("servers:\n  files: {command: files-server, args: [--root, /srv]}\n  remote: {url: 'https://example.com/mcp', enabled: false}\ntoolRules:\n  - {pattern: ['*delete*'], enabled: false, tags: [dangerous]}\n");
        screen.at_the_keyboard(&home, &[]);
        home.write(CURSOR, ONE);
        screen.types(
            &home,
            &[
                "--help",
                "export --help",
                "config show",
                "config show --nope",
                "config validate",
                "config validate --nope",
                "config sources",
                "config sources --all",
                "config sources --nope",
                "config reload",
                "export --to cursor --undo",
                "export --to cursor --dry-run",
                "export --to cursor",
                "export --to cursor",
                "export --to cursor --undo",
                "export --to curser",
                "rules explain files:delete_file",
                "rules explain files:read_file",
                "rules explain fils:read_file",
                "rules explain files",
                "status",
                "status --nope",
                "doctor --offline",
                "doctor fils",
                "doctor --nope",
                "completions bash",
                "completions tcsh",
            ],
        );
        edited_clients(screen);
    });
}

/// Files of clients that changed after Toolcrib was put into them, or cannot be read.
fn edited_clients(screen: &mut Screen) {
    let home = Home::new();
    home.configure("servers: {}\n");
    home.write(CURSOR, ONE);
    screen.types(&home, &["export --to cursor"]);
    let text = std::fs::read_to_string(home.path(CURSOR)).unwrap();
    home.write(CURSOR, &text.replace("\"a-server\"", "\"another-server\""));
    screen.types(&home, &["export --to cursor --undo"]);
    home.write(CURSOR, "{ \"mcpServers\": ");
    screen.types(&home, &["export --to cursor", "export --to cursor --undo"]);
    let home = Home::new();
    leads_nowhere(&home, ".cursor");
    screen.types(&home, &["export --to cursor"]);
}

#[test]
fn naming_sources() {
    check("sources", |screen| {
        let home = Home::new();
        home.configure(&format!(
            "sources:\n  - {{type: cursor, path: ~/.cursor/mcp.json}}\n  - {{type: claude-desktop, path: ~/nowhere.json}}\nservers:\n{NOTES}"
        ));
        home.write(CURSOR, ONE);
        home.write("work/.mcp.json", ONE);
        home.write("work/toolcrib.yaml", "servers: {p: {command: prog}}\n");
        screen.types(&home, &["config show", "config sources", "config validate"]);
        home.write(CURSOR, "{");
        screen.types(&home, &["config show", "config sources"]);
    });
}

#[test]
fn importing() {
    check("importing", |screen| {
        let home = Home::new();
        home.write(CURSOR, ONE);
        home.write("work/broken.json", "{ \"mcpServers\": ");
        home.write("work/empty.json", "{}");
        screen.types(
            &home,
            &[
                "import",
                "import --dry-run",
                "import --from nowhere.json",
                "import --from broken.json",
                "import --from empty.json",
                "import --from curser",
                "import --from cursor --dry-run",
                "import --write",
                "import --write",
                "import",
                "import --write --replace",
            ],
        );
        screen.types(&Home::new(), &["import", "import --write"]);
        let home = Home::new();
        home.write(CURSOR, ONE);
        leads_nowhere(&home, ".config/toolcrib");
        screen.types(&home, &["import --write"]);
    });
}

/// Puts a link to what is not there in the place of a directory: nobody can write below it, not even root.
pub(super) fn leads_nowhere(home: &Home, directory: &str) {
    let path = home.path(directory);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", path).unwrap();
}

#[test]
fn trusting() {
    check("trusting", |screen| {
        let home = Home::new();
        let file = "work/toolcrib.yaml";
        home.write(file, "servers: {p: {command: prog, args: [--token=abc]}}\n");
        screen.types(&home, &["config show", "trust --list", "trust"]);
        for answer in ["n", "y"] {
            let input = Input::Answer("be used?", answer);
            screen.run(&home, &["trust"], input, |_| {});
        }
        screen.types(&home, &["trust", "trust --list"]);
        home.write(file, "servers: {p: {command: another}}\n");
        screen.types(
            &home,
            &[
                "trust --list",
                "list",
                "trust --yes",
                "trust --revoke",
                "trust --revoke",
                "trust --yes nowhere",
            ],
        );
        home.write(".local/share/toolcrib/trust.json", "{");
        screen.types(&home, &["trust --list", "trust --yes"]);
    });
}

#[test]
fn setting_up_and_back() {
    check("setup", |screen| {
        let home = Home::new();
        home.write(CURSOR, ONE);
        screen.at_the_keyboard(&home, &[]);
        screen.types(&home, &["setup"]);
        let input = Input::Answer("Which clients", "q");
        screen.run(&home, &["setup"], input, |_| {});
        screen.types(
            &home,
            &[
                "setup --dry-run",
                "setup --yes",
                "setup --yes",
                "setup --undo",
                "setup --undo",
                "setup curser --yes",
                "setup docker-mcp --yes",
            ],
        );
        let input = Input::Answer("Which clients", "\ry");
        screen.run(&home, &["setup"], input, |_| {});
        let text = std::fs::read_to_string(home.path(CURSOR)).unwrap();
        home.write(
            CURSOR,
            &text.replace("\"mcpServers\"", "\"x\": 1, \"mcpServers\""),
        );
        screen.types(&home, &["setup --undo"]);
        screen.at_the_keyboard(&Home::new(), &[]);
        let home = Home::new();
        home.write(CURSOR, "{ \"mcpServers\": ");
        screen.types(
            &home,
            &["setup --yes", "setup cursor --yes", "setup --dry-run"],
        );
        let home = Home::new();
        leads_nowhere(&home, ".cursor");
        screen.types(&home, &["setup cursor --yes"]);
    });
}

#[test]
fn playing() {
    check("demo", |screen| {
        let home = Home::new();
        screen.types(&home, &["demo", "demo setup --keep", "demo nowhere"]);
        std::fs::remove_dir_all(home.path("run")).unwrap();
        home.write("run", "this is no directory");
        screen.types(&home, &["demo"]);
    });
}
