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
    let (system, _) = PLATFORMS
        .iter()
        .find(known)
        .with_context(|| format!("{platform} has no package"))?;
    let root = workspace::root();
    fs::create_dir_all(out)?;
    let stage = out.join("stage");
    let _ = fs::remove_dir_all(&stage);

    let home = stage.join(platform);
    fs::create_dir_all(home.join("bin"))?;
    let manifest = of_platform(&root, platform)?;
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
    fs::write(
        main.join("package.json"),
        serde_json::to_string_pretty(&of_all(&root)?)?,
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
            process::node_script("npm")
                .args(["pack", "--silent", "--pack-destination"])
                .arg(fs::canonicalize(out)?)
                .current_dir(&folder),
        )?;
        let name = told.lines().last().unwrap_or_default().trim();
        Ok(fs::canonicalize(out)?.join(name))
    });
    archives.into_iter().collect()
}

/// The manifest of the package of a platform.
fn of_platform(root: &Path, platform: &str) -> Result<Value> {
    let mut manifest = manifest(root, "platform")?;
    let (system, processor) = platform.split_once('-').context("SYSTEM-PROCESSOR")?;
    manifest["name"] = json!(format!("@toolcrib/{platform}"));
    manifest["description"] = json!(format!("The program of Toolcrib for {platform}"));
    manifest["os"] = json!([system]);
    manifest["cpu"] = json!([processor]);
    if system == "linux" {
        manifest["libc"] = json!(["glibc"]);
    }
    Ok(manifest)
}

/// The manifest of the package that names those of all platforms.
fn of_all(root: &Path) -> Result<Value> {
    let mut manifest = manifest(root, "toolcrib")?;
    let version = manifest["version"].clone();
    let others = PLATFORMS.iter().map(|(system, processor)| {
        let name = format!("@toolcrib/{system}-{processor}");
        (name, version.clone())
    });
    manifest["optionalDependencies"] = Value::Object(others.collect());
    Ok(manifest)
}

/// A manifest of `packaging/npm` with what the workspace says about every package. The registry takes a package with
/// provenance only if it names the repository that it was made in.
fn manifest(root: &Path, name: &str) -> Result<Value> {
    let path = root.join("packaging/npm").join(name).join("package.json");
    let text = fs::read_to_string(&path).with_context(|| workspace::relative(&path))?;
    let mut manifest: Value = serde_json::from_str(&text)?;
    manifest["version"] = json!(super::of_workspace(root, "version")?);
    let repository = super::of_workspace(root, "repository")?;
    manifest["repository"] = json!({"type": "git", "url": format!("git+{repository}.git")});
    Ok(manifest)
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
        let mut command = process::node_script(program);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_names_the_repository_of_the_workspace() {
        let root = workspace::root();
        let text = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        for manifest in [
            of_all(&root).unwrap(),
            of_platform(&root, "darwin-arm64").unwrap(),
        ] {
            let url = manifest["repository"]["url"].as_str().unwrap();
            let plain = url.strip_prefix("git+").unwrap();
            let plain = plain.strip_suffix(".git").unwrap();
            assert!(text.contains(&format!("repository = \"{plain}\"")), "{url}");
            assert_eq!(manifest["repository"]["type"], "git");
        }
    }

    #[test]
    fn a_package_for_linux_is_for_glibc_and_no_other_package_says_so() {
        let root = workspace::root();
        for (system, processor) in PLATFORMS {
            let manifest = of_platform(&root, &format!("{system}-{processor}")).unwrap();
            let expected = (*system == "linux").then(|| json!(["glibc"]));
            assert_eq!(manifest.get("libc"), expected.as_ref());
            assert_eq!(manifest["os"], json!([system]));
            assert_eq!(manifest["cpu"], json!([processor]));
        }
        let count = of_all(&root).unwrap()["optionalDependencies"]
            .as_object()
            .map(serde_json::Map::len);
        assert_eq!(count, Some(PLATFORMS.len()));
    }

    #[test]
    fn on_a_system_with_musl_the_launcher_says_so() {
        let place = tempfile::tempdir().unwrap();
        let launcher = workspace::root().join("packaging/npm/toolcrib/bin/toolcrib.js");
        fs::copy(launcher, place.path().join("toolcrib.js")).unwrap();
        // What Node says of Alpine: Linux, and no version of glibc.
        let alpine = "Object.defineProperty(process, 'platform', {value: 'linux'});\n\
                      process.report.getReport = () => ({header: {}});\n";
        fs::write(place.path().join("alpine.js"), alpine).unwrap();
        let said = |args: &[&str]| {
            let mut node = Command::new("node");
            let told = node.args(args).current_dir(place.path()).output().unwrap();
            assert_eq!(told.status.code(), Some(1));
            String::from_utf8(told.stderr).unwrap()
        };
        let on_alpine = said(&["--require", "./alpine.js", "toolcrib.js"]);
        assert!(on_alpine.contains("with musl"), "{on_alpine}");
        if !cfg!(target_env = "musl") {
            assert!(!said(&["toolcrib.js"]).contains("musl"));
        }
    }
}
