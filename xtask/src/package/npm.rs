//! The npm packages: one for each platform, and one that names all of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::PLATFORMS;
use super::client::Running;
use crate::peers::Peers;
use crate::{process, ui, workspace};

/// How long the registry may take to start.
const REGISTRY_START: Duration = Duration::from_mins(1);

/// Stages and packs the package of a platform and the one that names all of them.
pub(super) fn pack(platform: &str, binary: &Path, out: &Path) -> Result<Vec<PathBuf>> {
    let known = |(system, processor): &&(&str, &str)| format!("{system}-{processor}") == platform;
    let (system, processor) = PLATFORMS
        .iter()
        .find(known)
        .with_context(|| format!("{platform} has no package"))?;
    let root = workspace::root();
    let version = super::version(&root)?;
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
    super::executable(&program)?;

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
    super::executable(&launcher)?;
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

/// Publishes to a registry of our own and starts the program from there.
pub(super) fn try_out(peers: &Peers, archives: &[PathBuf], out: &Path) -> Result<()> {
    let place = out.join("registry");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    let port = free_port()?;
    let address = format!("http://127.0.0.1:{port}/");
    let config = format!(
        "storage: {0}/storage\nauth: {{htpasswd: {{file: {0}/users}}}}\nuplinks: {{}}\nmax_body_size: 500mb\npackages:\n  '**': {{access: $all, publish: $all}}\nlog: {{type: stdout, level: warn}}\n",
        place.display()
    );
    fs::write(place.join("config.yaml"), config)?;
    let registry = Command::new("node")
        .arg(peers.module("verdaccio/bin/verdaccio"))
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
    super::sees_five(
        "npx -y toolcrib",
        npm("npx").args(["-y", "toolcrib"]),
        &place,
    )
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
