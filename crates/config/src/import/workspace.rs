//! Variables that only an editor has: `${workspaceFolder}`, `${userHome}` and their kin.

use super::file::File;
use crate::placeholder::Dialect;

/// Replaces the variables of editors that have a value here, and names the first that has none.
pub(crate) fn replace(text: &str, file: &File<'_>, dialect: Dialect) -> (String, Option<String>) {
    let (open, close) = match dialect {
        Dialect::Opencode => ("{file:", "}"),
        _ => ("${", "}"),
    };
    let mut out = String::with_capacity(text.len());
    let mut left = None;
    let mut rest = text;
    while let Some(start) = rest.find(open) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let Some(end) = rest.find(close) else { break };
        let (whole, after) = rest.split_at(end + close.len());
        let inner = &whole[open.len()..end];
        rest = after;
        if dialect == Dialect::Opencode {
            left.get_or_insert_with(|| whole.to_owned());
            out.push_str(whole);
        } else if let Some(value) = value(inner, file) {
            out.push_str(&value);
        } else {
            if !inner.starts_with("env:") && !inner.starts_with("input:") {
                left.get_or_insert_with(|| whole.to_owned());
            }
            out.push_str(whole);
        }
    }
    out.push_str(rest);
    (out, left)
}

fn value(name: &str, file: &File<'_>) -> Option<String> {
    let workspace = || file.workspace.as_deref();
    match name {
        "userHome" => Some(file.surroundings.home.display().to_string()),
        "workspaceFolder" | "workspaceRoot" => Some(workspace()?.display().to_string()),
        "workspaceFolderBasename" => Some(workspace()?.file_name()?.to_str()?.to_owned()),
        "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
        _ => None,
    }
}
