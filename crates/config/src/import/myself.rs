//! Toolcrib's own entry in a client's file, so that it never starts or calls itself. A command of ours that does
//! something else, such as a server that comes with the program, is a server like any other.

use crate::model::server::{Server, Stdio, Transport};
use crate::surroundings::Surroundings;

/// The name of our program, package and image.
const OURS: &str = "toolcrib";

/// Why the entry is left out.
pub(crate) const REASON: &str = "this is Toolcrib itself";

/// Programs that fetch a package and run it.
const RUNNERS: &[&str] = &[
    "npx", "npm", "pnpx", "pnpm", "yarn", "bunx", "bun", "deno", "uvx", "uv", "pipx", "volta",
];

/// Words of [`RUNNERS`] that stand before the package.
const RUNNER_WORDS: &[&str] = &["exec", "x", "dlx", "tool", "run"];

/// Options of [`RUNNERS`] whose value is the package.
const PACKAGE_OPTIONS: &[&str] = &["-p", "--package", "--from", "--spec", "--with"];

/// Programs that run images.
const CONTAINERS: &[&str] = &["docker", "podman", "nerdctl", "container"];

/// Options of `docker run` and `docker exec` that stand alone; every other takes a value.
const CONTAINER_FLAGS: &[&str] = &[
    "-i",
    "-t",
    "-it",
    "-ti",
    "-d",
    "--rm",
    "--init",
    "--interactive",
    "--tty",
    "--detach",
    "--privileged",
    "--read-only",
    "--no-healthcheck",
    "--oom-kill-disable",
    "-P",
    "--publish-all",
    "--sig-proxy",
    "--quiet",
    "-q",
    "--use-api-socket",
    "--disable-content-trust",
];

/// Options of ours that hold for every command and take a value.
const GLOBAL_OPTIONS: &[&str] = &["--config", "--color", "--log-format"];

/// Shells and wrappers behind which the real command stands.
const WRAPPERS: &[&str] = &[
    "cmd",
    "env",
    "sh",
    "bash",
    "zsh",
    "nice",
    "sudo",
    "wsl",
    "powershell",
    "pwsh",
];

/// Why the server is Toolcrib itself, if it is.
pub(crate) fn recognise(server: &Server, surroundings: &Surroundings) -> Option<&'static str> {
    let ours = match &server.transport {
        Transport::Stdio(stdio) => {
            let words = words(stdio);
            starts_us(&words)
                || words
                    .iter()
                    .skip(1)
                    .any(|word| is_our_url(word, surroundings))
        }
        Transport::Http(remote) | Transport::Sse(remote) => {
            is_our_url(remote.url.exact().expose(), surroundings)
        }
    };
    ours.then_some(REASON)
}

/// The command line, a line given to a shell taken apart.
fn words(stdio: &Stdio) -> Vec<String> {
    std::iter::once(&stdio.command)
        .chain(&stdio.args)
        .map(|word| word.exact().expose().to_owned())
        .collect()
}

fn starts_us(words: &[String]) -> bool {
    let Some((first, rest)) = words.split_first() else {
        return false;
    };
    let program = program_name(first);
    if program == OURS {
        return serves(rest);
    }
    if WRAPPERS.contains(&program.as_str()) {
        return starts_us(&unwrapped(rest));
    }
    if RUNNERS.contains(&program.as_str()) {
        return package(rest)
            .is_some_and(|(name, given)| package_name(name) == OURS && serves(given));
    }
    if CONTAINERS.contains(&program.as_str()) {
        return image(rest).is_some_and(|(name, given)| image_name(name) == OURS && serves(given));
    }
    false
}

/// Whether Toolcrib serves with these arguments: it is told to, or nothing else.
fn serves(arguments: &[String]) -> bool {
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if GLOBAL_OPTIONS.contains(&word) {
            words.next();
        } else if !word.starts_with('-') && word != "mcp" {
            return word == "serve";
        }
    }
    true
}

/// What a wrapper runs: options and assignments dropped, a line for a shell split at spaces.
fn unwrapped(rest: &[String]) -> Vec<String> {
    rest.iter()
        .skip_while(|word| {
            word.starts_with(['-', '/']) && word.len() <= 3
                || word.contains('=')
                || word.starts_with("--")
        })
        .flat_map(|word| word.split_whitespace().map(str::to_owned))
        .collect()
}

/// The last part of a path, lower-cased, without the endings of programs on Windows.
fn program_name(command: &str) -> String {
    let name = command
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or(command)
        .to_lowercase();
    [".exe", ".cmd", ".bat", ".ps1"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(&name)
        .to_owned()
}

/// The package that a runner is told to run, and the arguments of its program.
fn package(words: &[String]) -> Option<(&str, &[String])> {
    for (index, word) in words.iter().enumerate() {
        let rest = &words[index + 1..];
        if PACKAGE_OPTIONS.contains(&word.as_str()) {
            let (package, rest) = rest.split_first()?;
            return Some((package, after_program(rest)));
        }
        if let Some((option, value)) = word.split_once('=')
            && PACKAGE_OPTIONS.contains(&option)
        {
            return Some((value, after_program(rest)));
        }
        if !word.starts_with('-') && !RUNNER_WORDS.contains(&word.as_str()) {
            return Some((word, rest));
        }
    }
    None
}

/// What stands after the name of a program, where options of the runner may stand before it.
fn after_program(words: &[String]) -> &[String] {
    let program = words
        .iter()
        .position(|word| !word.starts_with('-') && !RUNNER_WORDS.contains(&word.as_str()));
    program.map_or(&[], |at| &words[at + 1..])
}

/// `@scope/name@1.2`, `name==1.2`, `npm:name`, `git+https://…/name` to `name`.
fn package_name(package: &str) -> &str {
    let name = package.rsplit('/').next().unwrap_or(package);
    let name = name.rsplit(':').next().unwrap_or(name);
    name.split(['@', '=', '[', '<', '>', '~', '#'])
        .next()
        .unwrap_or(name)
}

/// The image that `run` starts, or the container that `exec` enters, and the arguments of the program in it.
fn image(words: &[String]) -> Option<(&str, &[String])> {
    let verb = words
        .iter()
        .position(|word| matches!(word.as_str(), "run" | "exec"))?;
    let mut at = verb + 1;
    while let Some(word) = words.get(at) {
        at += 1;
        if !word.starts_with('-') {
            // In a container that runs already the program is named, in an image it may be.
            let rest = &words[at..];
            let is_named = rest.first().is_some_and(|word| program_name(word) == OURS);
            return Some((word, &rest[usize::from(is_named)..]));
        }
        if !CONTAINER_FLAGS.contains(&word.as_str()) && !word.contains('=') {
            at += 1;
        }
    }
    None
}

/// `registry.example:5000/team/name:tag@sha256:…` to `name`.
fn image_name(image: &str) -> &str {
    let name = image.rsplit('/').next().unwrap_or(image);
    let name = if image.contains("@sha256:") {
        image
            .split('@')
            .next()
            .and_then(|i| i.rsplit('/').next())
            .unwrap_or(name)
    } else {
        name
    };
    name.split(':').next().unwrap_or(name)
}

/// Whether text is an address at which we listen. All names of this machine count as one.
fn is_our_url(text: &str, surroundings: &Surroundings) -> bool {
    let Some(theirs) = host_and_port(text) else {
        return false;
    };
    surroundings
        .own_addresses
        .iter()
        .any(|ours| host_and_port(&format!("http://{ours}")).is_some_and(|ours| ours == theirs))
}

fn host_and_port(url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let default = match scheme.to_ascii_lowercase().as_str() {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit('@').next()?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && !port.contains(']') => (host, port.parse().ok()?),
        _ => (authority, default),
    };
    let host = host.to_ascii_lowercase();
    let local = matches!(
        host.as_str(),
        "localhost" | "127.0.0.1" | "[::1]" | "0.0.0.0" | "[::]" | "host.docker.internal"
    );
    Some((if local { "localhost".to_owned() } else { host }, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::server::{Origin, Remote};
    use crate::placeholder::Template;
    use crate::surroundings::Os;

    fn surroundings() -> Surroundings {
        let mut here = Surroundings::new(Os::Linux, "/home/ada", "/work", |_| None);
        here.own_addresses = vec!["127.0.0.1:7070".to_owned(), "crib.example".to_owned()];
        here
    }

    fn is_ours(transport: Transport) -> bool {
        let origin = Origin {
            kind: "cursor".to_owned(),
            path: "mcp.json".into(),
            line: 1,
        };
        recognise(&Server::new("x", transport, origin), &surroundings()).is_some()
    }

    #[test]
    fn our_own_command_is_recognised_however_it_is_started() {
        let check = |line: &[&str], expected: bool| {
            let stdio = Stdio {
                command: Template::literal(line[0]),
                args: line[1..].iter().map(|w| Template::literal(*w)).collect(),
                env: indexmap::IndexMap::new(),
                env_file: None,
                cwd: None,
                inherit_env: false,
            };
            assert_eq!(is_ours(Transport::Stdio(stdio)), expected, "{line:?}");
        };
        check(&["toolcrib", "serve", "--stdio"], true);
        check(&["/usr/local/bin/toolcrib"], true);
        check(
            &["C:\\Program Files\\Toolcrib\\toolcrib.exe", "serve"],
            true,
        );
        check(&["npx", "-y", "toolcrib@1.2", "serve"], true);
        check(&["npx", "--package=@scope/toolcrib", "toolcrib"], true);
        check(&["npm", "exec", "-p", "toolcrib", "--", "toolcrib"], true);
        check(&["cmd", "/c", "npx", "-y", "toolcrib"], true);
        check(&["uvx", "toolcrib==0.3"], true);
        check(&["uv", "tool", "run", "--from", "toolcrib", "x"], true);
        check(&["sh", "-c", "toolcrib serve --stdio"], true);
        check(&["env", "A=b", "toolcrib"], true);
        check(
            &[
                "docker",
                "run",
                "-i",
                "--rm",
                "-v",
                "x:/y",
                "ghcr.io/a/toolcrib:1",
            ],
            true,
        );
        check(&["docker", "run", "-i", "toolcrib@sha256:00ff"], true);
        check(
            &["npx", "-y", "mcp-remote", "http://localhost:7070/mcp"],
            true,
        );

        check(
            &[
                "npx",
                "-y",
                "@modelcontextprotocol/server-filesystem",
                "toolcrib",
            ],
            false,
        );
        check(
            &["docker", "run", "-i", "--name", "toolcrib", "mcp/github"],
            false,
        );
        check(
            &["docker", "run", "-v", "toolcrib:/data", "mcp/github:1"],
            false,
        );
        check(&["docker", "mcp", "gateway"], false);
        check(&["npx"], false);
        check(&["toolcribs"], false);
        check(&["npx", "mcp-remote", "http://localhost:7071/mcp"], false);
        check(&["sh"], false);

        check(&["toolcrib", "--config", "x.yaml", "-v"], true);
        check(&["toolcrib", "--config=x.yaml", "mcp", "serve"], true);
        check(
            &["docker", "exec", "-i", "toolcrib", "toolcrib", "serve"],
            true,
        );
        check(&["npx", "-y", "-p", "toolcrib", "toolcrib", "serve"], true);
        check(&["toolcrib", "workshop", "notes"], false);
        check(&["toolcrib", "--config", "serve", "workshop"], false);
        check(&["npx", "-y", "toolcrib", "workshop", "notes"], false);
        check(
            &["npx", "-p", "toolcrib", "--", "toolcrib", "workshop"],
            false,
        );
        check(&["uvx", "--from=toolcrib", "toolcrib", "workshop"], false);
        check(&["docker", "run", "-i", "toolcrib:1", "workshop"], false);
        check(&["sh", "-c", "toolcrib workshop notes"], false);
    }

    #[test]
    fn our_own_address_is_recognised_under_every_name_of_this_machine() {
        let check = |url: &str, expected: bool| {
            let remote = Remote {
                url: Template::literal(url),
                headers: indexmap::IndexMap::new(),
            };
            assert_eq!(is_ours(Transport::Http(remote)), expected, "{url}");
        };
        check("http://127.0.0.1:7070/mcp", true);
        check("http://LOCALHOST:7070", true);
        check("http://[::1]:7070/mcp/gateway?x=1", true);
        check("http://user@crib.example/mcp", true);
        check("http://127.0.0.1:7071/mcp", false);
        check("https://mcp.example/mcp", false);
        check("ftp://127.0.0.1:7070", false);
        check("127.0.0.1:7070", false);
        check("http://127.0.0.1:x/", false);
    }
}
