//! Packages as command lines.
//!
//! What an entry names is handed to the program that fetches and runs packages of its kind; nothing
//! goes through a shell, and a name that could be taken for an option is refused.

use super::bundle;
use super::entry::{Argument, Package};
use super::input::{Collector, Input, Text, Undeclared};
use super::offer::{Offer, Way};

/// Where packages of a kind are unless an entry says otherwise.
const USUAL_PLACES: [(&str, &[&str]); 5] = [
    ("npm", &["https://registry.npmjs.org"]),
    ("pypi", &["https://pypi.org"]),
    ("nuget", &["https://api.nuget.org", "https://www.nuget.org"]),
    ("cargo", &["https://crates.io"]),
    (
        "oci",
        &["https://docker.io", "https://ghcr.io", "https://quay.io"],
    ),
];

/// The offer that a package is, or why it is none.
pub(super) fn offer(package: &Package, prefix: &str, label: &str) -> Result<Offer, String> {
    let kind = package.registry_type.as_str();
    if kind == "mcpb" {
        return bundled(package, prefix, label);
    }
    let name = checked(&package.identifier, "name")?;
    let version = package.version.as_deref().filter(|v| !v.is_empty());
    let version = version.map(|v| checked(v, "version")).transpose()?;
    usual_place(package)?;
    let mut collector = Collector::new(prefix);
    let runtime = arguments(&package.runtime_arguments, &mut collector);
    let own = arguments(&package.arguments, &mut collector);
    let env = variables(package, &mut collector)?;
    let pinned = |separator: char| match version {
        Some(version) => format!("{name}{separator}{version}"),
        None => name.to_owned(),
    };
    let hint = package.runtime_hint.as_deref();
    let mut preparation = None;
    let (command, args) = match kind {
        "npm" => npm(hint, runtime, pinned('@')),
        "pypi" => ("uvx".to_owned(), with_last(runtime, pinned('@'))),
        "oci" => oci(hint, runtime, &env, image(name, version)),
        "nuget" => nuget(runtime, pinned('@'), !own.is_empty()),
        "cargo" => {
            let version = version
                .map(|v| format!(" --version {v}"))
                .unwrap_or_default();
            preparation = Some(format!("cargo install --locked {name}{version}"));
            (name.to_owned(), runtime)
        }
        other => return Err(format!("packages of the kind {other:?} are not known")),
    };
    let args: Vec<Text> = args.into_iter().chain(own).collect();
    if package.transport.kind != "stdio" {
        return Err(serves_itself(package, &command, &args));
    }
    Ok(Offer {
        label: label.to_owned(),
        way: Way::Stdio { command, args, env },
        needed: collector.needed,
        preparation,
    })
}

fn npm(hint: Option<&str>, runtime: Vec<Text>, package: String) -> (String, Vec<Text>) {
    let command = match hint {
        Some("bunx") => "bunx",
        _ => "npx",
    };
    let agreed = runtime.iter().map(ToString::to_string);
    let agreed = command != "npx" || agreed.into_iter().any(|arg| arg == "-y" || arg == "--yes");
    let yes = (!agreed).then(|| Text::literal("-y"));
    let args = yes.into_iter().chain(runtime).collect();
    (command.to_owned(), with_last(args, package))
}

fn oci(
    hint: Option<&str>,
    runtime: Vec<Text>,
    env: &[(String, Text)],
    image: String,
) -> (String, Vec<Text>) {
    let command = match hint {
        Some("podman") => "podman",
        _ => "docker",
    };
    let mut args: Vec<Text> = ["run", "-i", "--rm"].map(Text::literal).into();
    // The values come from the environment of the program itself, so they stand in no process list.
    for (name, _) in env {
        args.extend([Text::literal("-e"), Text::literal(name)]);
    }
    args.extend(runtime);
    (command.to_owned(), with_last(args, image))
}

fn nuget(runtime: Vec<Text>, package: String, has_arguments: bool) -> (String, Vec<Text>) {
    let mut args = with_last(runtime, package);
    args.push(Text::literal("--yes"));
    if has_arguments {
        args.push(Text::literal("--"));
    }
    ("dnx".to_owned(), args)
}

/// An image with its version, unless the name has a tag or a digest already.
fn image(name: &str, version: Option<&str>) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    match version {
        Some(version) if version.starts_with("sha256:") && !last.contains('@') => {
            format!("{name}@{version}")
        }
        Some(version) if !last.contains([':', '@']) => format!("{name}:{version}"),
        _ => name.to_owned(),
    }
}

fn with_last(mut args: Vec<Text>, last: String) -> Vec<Text> {
    args.push(Text::literal(last));
    args
}

fn arguments(arguments: &[Argument], collector: &mut Collector<'_>) -> Vec<Text> {
    let mut args = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        match argument {
            Argument::Positional { value_hint, input } => {
                let place = format!("argument_{}", index + 1);
                let name = value_hint.as_deref().unwrap_or(&place);
                args.extend(collector.text(input, name, None, Undeclared::Literal));
            }
            Argument::Named { name, input } => {
                args.extend(named(name, input, collector));
            }
        }
    }
    args
}

/// A flag: alone where its value is a yes, not at all where it is a no.
fn named(name: &str, input: &Input, collector: &mut Collector<'_>) -> Vec<Text> {
    let fixed = input.value.as_deref().or(input.default.as_deref());
    let is_switch = input.format.as_deref() == Some("boolean");
    match fixed {
        Some("true") if is_switch => vec![Text::literal(name)],
        Some("false") if is_switch => Vec::new(),
        None if is_switch && !input.is_required => Vec::new(),
        None if is_bare(input) => vec![Text::literal(name)],
        _ => match collector.text(input, name, None, Undeclared::Literal) {
            Some(value) => vec![Text::literal(name), value],
            None => Vec::new(),
        },
    }
}

/// Whether nothing is said of a flag but that it must be there.
fn is_bare(input: &Input) -> bool {
    *input
        == Input {
            is_required: true,
            ..Input::default()
        }
        || *input == Input::default()
}

/// A name that is no option, no path and nothing but a name.
fn checked<'a>(text: &'a str, what: &str) -> Result<&'a str, String> {
    let good = |c: char| c.is_ascii_alphanumeric() || "@/._-+:~^=".contains(c);
    let fine = !text.is_empty()
        && text.chars().all(good)
        && !text.starts_with(['-', '.', '/', '~'])
        && !text.contains("..")
        && !text.contains("://");
    if fine {
        Ok(text)
    } else {
        Err(format!(
            "its {what} {text:?} is none; do not run it by hand either"
        ))
    }
}

fn usual_place(package: &Package) -> Result<(), String> {
    let Some(base) = package.registry_base_url.as_deref() else {
        return Ok(());
    };
    let usual = USUAL_PLACES
        .iter()
        .find(|(kind, _)| *kind == package.registry_type)
        .map_or(&[][..], |(_, places)| places);
    let given = base.trim_end_matches('/').to_ascii_lowercase();
    if usual.contains(&given.as_str()) {
        Ok(())
    } else {
        Err(format!(
            "it is kept at {base:?}, not where packages of its kind usually are; install it by hand and add its command"
        ))
    }
}

/// A bundle: what the entry says is kept until its manifest is there.
fn bundled(package: &Package, prefix: &str, label: &str) -> Result<Offer, String> {
    let mut collector = Collector::new(prefix);
    let args = arguments(&package.arguments, &mut collector);
    let env = variables(package, &mut collector)?;
    let bundle = bundle::of_package(package, args, env)?;
    if package.transport.kind != "stdio" {
        let kind = &package.transport.kind;
        return Err(format!(
            "it is a bundle that serves {kind} itself; unpack and start it by hand and add its address"
        ));
    }
    Ok(Offer {
        label: label.to_owned(),
        way: Way::Bundle(bundle),
        needed: collector.needed,
        preparation: None,
    })
}

fn variables(
    package: &Package,
    collector: &mut Collector<'_>,
) -> Result<Vec<(String, Text)>, String> {
    let mut env = Vec::new();
    for variable in &package.environment_variables {
        let name = checked(&variable.name, "variable")?;
        let value = collector.text(&variable.input, name, Some(name), Undeclared::Literal);
        env.extend(value.map(|value| (name.to_owned(), value)));
    }
    Ok(env)
}

fn serves_itself(package: &Package, command: &str, args: &[Text]) -> String {
    let line = std::iter::once(command.to_owned()).chain(args.iter().map(ToString::to_string));
    let line = line.collect::<Vec<_>>().join(" ");
    let address = package.transport.url.as_deref().unwrap_or("its address");
    format!(
        "it serves {} itself: start `{line}` and add {address}",
        package.transport.kind
    )
}
