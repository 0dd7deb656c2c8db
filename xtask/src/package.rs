//! `cargo xtask package`: the npm packages, tried on a registry of their own before anybody else sees them.
//!
//! `npm` alone writes the archives. `try` publishes them to a `verdaccio` on this machine and starts what
//! `npx -y toolcrib` brings, as a client would: over a pipe, until it has five tools.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::args::Args;
use crate::{process, ui, workspace};

/// The platforms that have a package, as Node names them: system and processor.
const PLATFORMS: &[(&str, &str)] = &[
    ("linux", "x64"),
    ("linux", "arm64"),
    ("darwin", "x64"),
    ("darwin", "arm64"),
    ("win32", "x64"),
];

/// The registry that packages are tried on; its sixth version wants a newer Node than we do. A tag that one of its dependencies asks for is not on every
/// mirror, so the version that it stands for is named.
const VERDACCIO: &str = r#"{ "private": true, "dependencies": { "verdaccio": "5.33.0" }, "overrides": { "node-fetch": "2.7.0" } }"#;

/// How long the registry may take to start: it may have to be fetched first.
const REGISTRY_START: Duration = Duration::from_mins(4);

/// `cargo xtask package [npm | try] [--platform P] [--binary FILE] [--out DIR]`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let what = args.positional().unwrap_or_else(|| "try".to_owned());
    let one = |mut all: Vec<String>| all.pop();
    let platform = one(args.options("--platform")?).unwrap_or_else(this_platform);
    let binary = one(args.options("--binary")?).map(PathBuf::from);
    let out = one(args.options("--out")?).map(PathBuf::from);
    args.finish()?;
    let out = out.unwrap_or_else(|| workspace::target().join("package"));
    let binary = match binary {
        Some(binary) => binary,
        None => built()?,
    };
    let archives = npm(&platform, &binary, &out)?;
    for archive in &archives {
        ui::line(&format!("wrote {}", workspace::relative(archive)));
    }
    match what.as_str() {
        "npm" => Ok(()),
        "try" => try_out(&archives, &out),
        other => bail!("{other} is neither npm nor try"),
    }
}

/// This machine, as Node names it.
fn this_platform() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let processor = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{system}-{processor}")
}

/// The program, built for release.
fn built() -> Result<PathBuf> {
    process::run(process::cargo().args(["build", "--release", "--locked", "-p", "toolcrib"]))?;
    let program = workspace::target().join("release/toolcrib");
    let bytes = fs::metadata(&program)?.len();
    ui::line(&format!("toolcrib: {} KiB", bytes.div_ceil(1024)));
    Ok(program)
}

/// Stages and packs the package of a platform and the one that names all of them.
fn npm(platform: &str, binary: &Path, out: &Path) -> Result<Vec<PathBuf>> {
    let known = |(system, processor): &&(&str, &str)| format!("{system}-{processor}") == platform;
    let (system, processor) = PLATFORMS
        .iter()
        .find(known)
        .with_context(|| format!("{platform} has no package"))?;
    let root = workspace::root();
    let version = version(&root)?;
    fs::create_dir_all(out)?;
    let stage = out.join("stage");
    let _ = fs::remove_dir_all(&stage);

    let home = stage.join(platform);
    fs::create_dir_all(home.join("bin"))?;
    let mut manifest = manifest(&root.join("packaging/npm/platform/package.json"))?;
    manifest["name"] = json!(format!("@toolcrib/{platform}"));
    manifest["description"] = json!(format!("The program of Toolcrib for {platform}"));
    manifest["version"] = json!(version);
    manifest["os"] = json!([system]);
    manifest["cpu"] = json!([processor]);
    fs::write(
        home.join("package.json"),
        serde_json::to_string_pretty(&manifest)?,
    )?;
    let file = if *system == "win32" {
        "toolcrib.exe"
    } else {
        "toolcrib"
    };
    let from = if binary.exists() {
        binary.to_owned()
    } else {
        binary.with_extension("exe")
    };
    let program = home.join("bin").join(file);
    fs::copy(&from, &program).with_context(|| format!("{} is not there", from.display()))?;
    executable(&program)?;

    let main = stage.join("toolcrib");
    fs::create_dir_all(main.join("bin"))?;
    let mut manifest = self::manifest(&root.join("packaging/npm/toolcrib/package.json"))?;
    manifest["version"] = json!(version);
    let others = PLATFORMS
        .iter()
        .map(|(system, processor)| (format!("@toolcrib/{system}-{processor}"), json!(version)));
    manifest["optionalDependencies"] = Value::Object(others.collect());
    fs::write(
        main.join("package.json"),
        serde_json::to_string_pretty(&manifest)?,
    )?;
    let launcher = main.join("bin/toolcrib.js");
    fs::copy(
        root.join("packaging/npm/toolcrib/bin/toolcrib.js"),
        &launcher,
    )?;
    executable(&launcher)?;
    for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(root.join(file), main.join(file))?;
    }
    let archives = [home, main].map(|folder| -> Result<PathBuf> {
        let told = process::output(
            process::program("npm")
                .args(["pack", "--silent", "--pack-destination"])
                .arg(fs::canonicalize(out)?)
                .current_dir(&folder),
        )?;
        let name = told.lines().last().unwrap_or_default().trim();
        Ok(fs::canonicalize(out)?.join(name))
    });
    archives.into_iter().collect()
}

fn manifest(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).with_context(|| workspace::relative(path))?;
    Ok(serde_json::from_str(&text)?)
}

/// The version of the workspace.
fn version(root: &Path) -> Result<String> {
    let text = fs::read_to_string(root.join("Cargo.toml"))?;
    let mut lines = text
        .lines()
        .skip_while(|line| *line != "[workspace.package]");
    let line = lines.find_map(|line| line.strip_prefix("version = "));
    let version = line.context("the workspace has no version")?;
    Ok(version.trim_matches('"').to_owned())
}

#[cfg(unix)]
fn executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[cfg(not(unix))]
fn executable(_: &Path) -> Result<()> {
    Ok(())
}

/// A process that ends with us.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Publishes to a registry of our own and starts the program from there.
fn try_out(archives: &[PathBuf], out: &Path) -> Result<()> {
    let place = fs::canonicalize(out)?.join("registry");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    let port = free_port()?;
    let address = format!("http://127.0.0.1:{port}/");
    let config = format!(
        "storage: {0}/storage\nauth: {{htpasswd: {{file: {0}/users}}}}\nuplinks: {{}}\nmax_body_size: 500mb\npackages:\n  '**': {{access: $all, publish: $all}}\nlog: {{type: stdout, level: warn}}\n",
        place.display()
    );
    fs::write(place.join("config.yaml"), config)?;
    // The registry itself: from the usual one, into a folder of ours.
    let tools = place.join("tools");
    fs::create_dir_all(&tools)?;
    fs::write(tools.join("package.json"), VERDACCIO)?;
    process::run(
        process::program("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund"])
            .current_dir(&tools),
    )?;
    let registry = Command::new("node")
        .arg(tools.join("node_modules/verdaccio/bin/verdaccio"))
        .args(["--listen", &format!("127.0.0.1:{port}"), "--config"])
        .arg(place.join("config.yaml"))
        .stdout(Stdio::null())
        .spawn()
        .context("the registry cannot be started")?;
    let mut registry = Running(registry);
    wait_for(port, &mut registry.0)?;
    // npm wants a token even where none is needed.
    let settings = format!("registry={address}\n//127.0.0.1:{port}/:_authToken=none\n");
    fs::write(place.join("npmrc"), settings)?;
    let npm = |program: &str| {
        let mut command = process::program(program);
        command
            .env("npm_config_userconfig", place.join("npmrc"))
            .env("npm_config_registry", &address)
            .env("npm_config_cache", place.join("cache"))
            .env("HOME", &place)
            .current_dir(&place);
        command
    };
    for archive in archives {
        process::run(npm("npm").args(["publish", "--silent"]).arg(archive))?;
    }
    let version = process::output(npm("npx").args(["-y", "toolcrib", "--version"]))?;
    ui::line(&format!("npx -y toolcrib --version: {}", version.trim()));
    let tools = handshake(npm("npx").args(["-y", "toolcrib"]))?;
    ui::line(&format!("npx -y toolcrib on a pipe: {}", tools.join(", ")));
    ensure!(
        tools.len() == 5,
        "a client sees {} tools and not five",
        tools.len()
    );
    Ok(())
}

fn free_port() -> Result<u16> {
    let socket = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(socket.local_addr()?.port())
}

fn wait_for(port: u16, registry: &mut Child) -> Result<()> {
    let deadline = Instant::now() + REGISTRY_START;
    while Instant::now() < deadline {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(());
        }
        if let Some(status) = registry.try_wait()? {
            bail!("the registry ended with {status}");
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    bail!("the registry did not start")
}

/// Speaks with the program as a client does, and gives the names of its tools.
fn handshake(command: &mut Command) -> Result<Vec<String>> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut input = child.stdin.take().context("no pipe")?;
    let output = child.stdout.take().context("no pipe")?;
    let _child = Running(child);
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
            "capabilities": {}, "clientInfo": {"name": "package-test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ] {
        writeln!(input, "{message}")?;
    }
    for line in BufReader::new(output).lines() {
        let answer: Value =
            serde_json::from_str(&line?).context("what came is no message of MCP")?;
        if answer["id"] == 2 {
            let tools = answer["result"]["tools"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let names = tools.iter().filter_map(|tool| tool["name"].as_str());
            return Ok(names.map(str::to_owned).collect());
        }
    }
    bail!("the program ended before it named its tools")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str) -> String {
        fs::read_to_string(workspace::root().join(path)).unwrap()
    }

    #[test]
    fn the_launcher_looks_for_what_the_package_of_a_platform_holds() {
        let launcher = text("packaging/npm/toolcrib/bin/toolcrib.js");
        assert!(
            launcher.contains("`@toolcrib/${platform}/bin/${file}`"),
            "{launcher}"
        );
        assert!(!version(&workspace::root()).unwrap().is_empty());
    }

    #[test]
    fn every_platform_is_built_by_the_release() {
        let workflow = text(".github/workflows/release.yml");
        for (system, processor) in PLATFORMS {
            let platform = format!("platform: {system}-{processor}");
            assert!(workflow.contains(&platform), "no {platform}");
        }
    }

    #[test]
    fn the_image_ends_in_the_program_and_runs_as_nobody_special() {
        let image = text("packaging/container/Dockerfile");
        let last = |word: &str| image.lines().rfind(|line| line.starts_with(word)).unwrap();
        assert_eq!(last("USER"), "USER toolcrib");
        assert_eq!(last("CMD"), r#"CMD ["serve", "--stdio"]"#);
        assert!(image.contains("--locked"));
        let compose = text("packaging/container/compose.yaml");
        assert!(compose.contains("127.0.0.1:7332:7332") && compose.contains("no-new-privileges"));
    }
}
