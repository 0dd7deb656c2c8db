//! Every command where the configuration does not load, and where it is not typed right.

use super::screen::check;
use super::whole::commands;
use crate::home::Home;

/// What follows a command that does not stand alone.
pub(super) const ARGUMENTS: &[(&str, &str)] = &[
    ("adapter add", "shop.yaml"),
    ("adapter check", "shop.yaml"),
    ("approvals approve", "a:x"),
    ("approvals reject", "a:x"),
    ("approvals show", "a:x"),
    ("approve", "a:x"),
    ("completions", "fish"),
    ("execute", "a x --args {}"),
    ("export", "--to cursor"),
    ("infer", "a x"),
    ("inspect", "a x"),
    ("introspect", "/nowhere/at/all"),
    ("keys create", "ci --scope a:read"),
    ("keys revoke", "key-none"),
    ("login", "a"),
    ("logout", "a"),
    ("policy explain", "a:x"),
    ("registry add", "a/b"),
    ("registry find", "x"),
    ("registry show", "a/b"),
    ("rtfs check", "good.rtfs"),
    ("rules explain", "a:x"),
    ("search", "x"),
    ("tools", "a"),
];

/// What plays on a home of its own, and is long.
const APART: &[&str] = &["demo"];

#[test]
fn with_a_broken_configuration() {
    check("broken", |screen| {
        let home = Home::new();
        home.configure("servers: {a: {command: x}}\ntoolRules: 7\n");
        home.write(".cursor/mcp.json", "{");
        home.write("work/good.rtfs", "(capability \"a.b\" :name \"x\")\n");
        home.write("work/shop.yaml", super::describing::SHOP);
        screen.at_the_keyboard(&home, &[]);
        for command in commands()
            .keys()
            .filter(|name| !APART.contains(&name.as_str()))
        {
            let more = ARGUMENTS.iter().find(|(name, _)| name == command);
            let more = more.map_or("", |(_, more)| more);
            screen.types(&home, &[format!("{command} {more}").trim_end()]);
        }
        screen.types(&home, &["doctor --offline"]);
    });
}

#[test]
fn mistyped() {
    check("mistyped", |screen| {
        let home = Home::new();
        for command in commands().keys() {
            screen.types(&home, &[&format!("{command} --nope")]);
        }
    });
}
