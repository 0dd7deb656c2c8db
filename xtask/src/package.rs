//! `cargo xtask package`: the packages for npm and `PyPI`, the installer and the container's files, tried before
//! anybody else sees them.
//!
//! `npm` and `wheel` write archives around a program that is built already, as the release does for every
//! platform. `try` starts each of them as a client would, over a pipe, until it has five tools: from a `verdaccio`
//! on this machine with `npx -y toolcrib`, with `uvx toolcrib`, by `pip`, by the shell installer. `full` takes the
//! program that `cargo install` makes, and lets maturin build a wheel from the sources too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::args::Args;
use crate::peers::Peers;
use crate::served::Build;
use crate::{process, ui, workspace};

mod client;
mod files;
mod npm;
mod wheel;

/// The platforms that have a package, as Node names them: system and processor.
const PLATFORMS: &[(&str, &str)] = &[
    ("linux", "x64"),
    ("linux", "arm64"),
    ("darwin", "x64"),
    ("darwin", "arm64"),
    ("win32", "x64"),
];

/// `cargo xtask package [npm | wheel | try | full] [--platform P] [--binary FILE] [--out DIR] [--optimised]`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let what = args.positional().unwrap_or_else(|| "try".to_owned());
    let one = |mut all: Vec<String>| all.pop();
    let platform = one(args.options("--platform")?).unwrap_or_else(this_platform);
    let binary = one(args.options("--binary")?).map(PathBuf::from);
    let out = one(args.options("--out")?).map(PathBuf::from);
    let build = Build::named(args);
    args.finish()?;
    let out = out.unwrap_or_else(place);
    fs::create_dir_all(&out)?;
    let binary = match binary {
        Some(binary) => binary,
        None if what == "full" => installed(&out)?,
        None => {
            build.make()?;
            build.program("toolcrib")
        }
    };
    match what.as_str() {
        "npm" => told(&npm::pack(&platform, &binary, &out)?),
        "wheel" => told(&[wheel::write(&platform, &binary, &out)?]),
        "try" => try_all(&binary, &out).map(|_| ()),
        "full" => full(&binary, &out).map(|_| ()),
        other => bail!("{other} is none of npm, wheel, try and full"),
    }
}

/// All packages around the program that the step `build` of CI left; says how big it is.
pub(crate) fn check(build: Build) -> Result<String> {
    let sizes = try_all(&build.program("toolcrib"), &place())?;
    // Its profile is not that of a release, whose program has another size.
    Ok(if build == Build::Ci {
        format!("as CI builds it: {sizes}")
    } else {
        sizes
    })
}

/// The long way: `cargo install`, every package around what it makes, and maturin from the sources.
pub(crate) fn from_the_sources() -> Result<String> {
    let out = place();
    fs::create_dir_all(&out)?;
    full(&installed(&out)?, &out)
}

fn place() -> PathBuf {
    workspace::target().join("package")
}

fn told(archives: &[PathBuf]) -> Result<()> {
    for archive in archives {
        let size = fs::metadata(archive)?.len();
        ui::line(&format!(
            "wrote {}, {}",
            workspace::relative(archive),
            mib(size)
        ));
    }
    Ok(())
}

/// Bytes for people.
fn mib(bytes: u64) -> String {
    let tenths = bytes * 10 / (1024 * 1024);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
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

/// What `cargo install --path crates/gateway` makes.
fn installed(out: &Path) -> Result<PathBuf> {
    let root = out.join("installed");
    let mut install = process::cargo();
    install.args(["install", "--locked", "--force", "--path", "crates/gateway"]);
    // Beside the other artefacts of the workspace, so that what is built for it is not built again.
    install
        .arg("--root")
        .arg(&root)
        .env("CARGO_TARGET_DIR", workspace::target());
    process::run(&mut install)?;
    let program = root.join("bin/toolcrib");
    Ok(program.with_extension(std::env::consts::EXE_EXTENSION))
}

/// Starts every package that can be made around a program, and says how big the program is.
fn try_all(binary: &Path, out: &Path) -> Result<String> {
    fs::create_dir_all(out)?;
    let out = &fs::canonicalize(out)?;
    let peers = Peers::install("package")?;
    files::lint(&peers)?;
    let (built, slim) = (fs::metadata(binary)?.len(), slim(binary, out)?);
    let size = fs::metadata(&slim)?.len();
    ui::line(&format!(
        "toolcrib: {} as built, {} without symbols",
        mib(built),
        mib(size)
    ));
    let platform = this_platform();
    let archives = npm::pack(&platform, &slim, out)?;
    told(&archives)?;
    npm::try_out(&peers, &archives, out)?;
    let wheel = wheel::write(&platform, &slim, out)?;
    told(std::slice::from_ref(&wheel))?;
    wheel::try_out(&peers, &wheel, out)?;
    files::try_installer(&slim, out)?;
    Ok(format!(
        "program {}, wheel {}",
        mib(size),
        mib(fs::metadata(&wheel)?.len())
    ))
}

fn full(binary: &Path, out: &Path) -> Result<String> {
    sees_five(
        "the program of cargo install",
        &mut Command::new(binary),
        out,
    )?;
    let note = try_all(binary, out)?;
    // Tools that take symbols out differ by a few bytes.
    let least = fs::metadata(slim(binary, out)?)?.len();
    ensure!(
        fs::metadata(binary)?.len() <= least + least / 100,
        "the program of cargo install holds symbols"
    );
    wheel::try_maturin(out)?;
    Ok(note)
}

/// A copy without symbols, where this machine can take them out.
fn slim(binary: &Path, out: &Path) -> Result<PathBuf> {
    let slim = out
        .join("toolcrib")
        .with_extension(std::env::consts::EXE_EXTENSION);
    let _ = fs::remove_file(&slim);
    fs::copy(binary, &slim).with_context(|| format!("{} is not there", binary.display()))?;
    if !process::quietly(process::program("strip").arg(&slim)) {
        ui::line("strip is not here: the packages hold the program with its symbols");
    }
    Ok(slim)
}

/// Holds what a command starts to what a client expects.
fn sees_five(name: &str, command: &mut Command, home: &Path) -> Result<()> {
    let tools = client::tools_of(command.env("HOME", home).current_dir(home))
        .with_context(|| format!("{name} on a pipe"))?;
    ui::line(&format!("{name} on a pipe: {}", tools.join(", ")));
    ensure!(
        tools.len() == 5,
        "{name}: a client sees {} tools and not five",
        tools.len()
    );
    Ok(())
}

/// What the workspace says about all its packages, such as their version.
fn of_workspace(root: &Path, field: &str) -> Result<String> {
    let text = fs::read_to_string(root.join("Cargo.toml"))?;
    let mut lines = text
        .lines()
        .skip_while(|line| *line != "[workspace.package]");
    let line = lines.find_map(|line| line.strip_prefix(field)?.strip_prefix(" = "));
    let value = line.with_context(|| format!("the workspace has no {field}"))?;
    Ok(value.trim_matches('"').to_owned())
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
        assert!(
            !of_workspace(&workspace::root(), "version")
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn every_platform_is_built_by_the_release() {
        let workflow = text(".github/workflows/release.yml");
        for (system, processor) in PLATFORMS {
            let platform = format!("platform: {system}-{processor}");
            assert!(workflow.contains(&platform), "no {platform}");
        }
    }

    /// A job of the workflow that releases.
    fn job(name: &str) -> String {
        let workflow = text(".github/workflows/release.yml");
        let start = workflow.find(&format!("\n  {name}:\n")).unwrap();
        let lines = workflow[start + 1..].lines();
        let ends = |line: &&str| line.is_empty();
        lines
            .take_while(|line| !ends(line))
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn only_a_tag_that_is_the_version_is_published_and_only_what_was_built_and_tested() {
        for name in ["image", "publish"] {
            let job = job(name);
            for part in [
                "if: startsWith(github.ref, 'refs/tags/v')",
                "needs: [test, build]",
            ] {
                assert!(job.contains(part), "{name} has no {part}");
            }
        }
        assert!(job("build").contains("needs: [version]"));
        let version = job("version");
        assert!(
            version.contains(r#"[ "v$version" != "$GITHUB_REF_NAME" ]"#),
            "{version}"
        );
        assert!(job("test").contains("cargo xtask test"));
    }

    #[test]
    fn npm_is_given_files_to_publish_and_each_of_them_once() {
        let publish = job("publish");
        let given = publish.lines().filter(|line| line.contains("npm publish"));
        for line in given {
            assert!(
                line.contains("./npm/"),
                "npm looks for a repository: {line}"
            );
        }
        assert_eq!(publish.matches("npm publish").count(), 2);
        let build = job("build");
        assert!(build.contains("rm npm/toolcrib-[0-9]*.tgz"), "{build}");
    }

    #[test]
    fn the_image_ends_in_the_program_and_runs_as_nobody_special() {
        let image = text("packaging/container/Dockerfile");
        let last = |word: &str| image.lines().rfind(|line| line.starts_with(word)).unwrap();
        assert_eq!(last("USER"), "USER 10001");
        assert_eq!(last("CMD"), r#"CMD ["serve", "--stdio"]"#);
        assert!(image.contains("--locked"));
        let compose = text("packaging/container/compose.yaml");
        assert!(compose.contains("127.0.0.1:7332:7332") && compose.contains("no-new-privileges"));
    }
}
