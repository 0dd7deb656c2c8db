//! The answers of `list_mcp_servers` and `list_tools`, by pages that never cost more than they may.

use serde::Serialize;

use super::prose;
use super::search::summary;
use crate::catalog::Tool;
use crate::limits::LIST_TOKENS_MAX;
use crate::tokens;

/// One server of the list.
#[derive(Clone, Debug, Serialize)]
pub struct ServerRow {
    /// The name that ids and rules use.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// How many tools the caller may know of.
    #[serde(rename = "toolCount")]
    pub tool_count: usize,
    /// How many of them can be run.
    #[serde(rename = "enabledCount")]
    pub enabled_count: usize,
    /// How things stand with it, in one word.
    pub status: String,
    /// Why it cannot be used, where it cannot and the caller may know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Since when that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

#[derive(Serialize)]
struct ToolRow<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    summary: String,
    enabled: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tags: &'a [String],
}

/// Where a page ends.
#[derive(Serialize)]
struct End {
    total: usize,
    returned: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Serialize)]
struct ServerPage<'a> {
    servers: &'a [ServerRow],
    #[serde(flatten)]
    end: End,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_servers: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_servers: Option<usize>,
}

#[derive(Serialize)]
struct ToolPage<'a> {
    server: &'a str,
    tools: &'a [ToolRow<'a>],
    #[serde(flatten)]
    end: End,
}

/// Why a cursor leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`cursor` leads nowhere; use `next` of the page before, or none for the first page")]
pub struct BadCursor;

/// Where a page begins.
pub fn position(cursor: Option<&str>, total: usize) -> Result<usize, BadCursor> {
    match cursor {
        None => Ok(0),
        Some(text) => {
            let at = text.parse().map_err(|_| BadCursor)?;
            if at > 0 && at < total {
                Ok(at)
            } else {
                Err(BadCursor)
            }
        }
    }
}

/// A page of the servers.
pub fn servers(
    mut rows: Vec<ServerRow>,
    (pending_servers, failed_servers): (usize, usize),
    cursor: Option<&str>,
) -> Result<String, BadCursor> {
    let from = position(cursor, rows.len())?;
    for row in &mut rows {
        let (short, _) = prose::shorten(&row.description, 100);
        row.description = short.into_owned();
        let reason = row.reason.as_deref();
        row.reason = reason.map(|reason| prose::shorten(reason, 100).0.into_owned());
    }
    Ok(page(rows.len(), from, |range, end| {
        let answer = ServerPage {
            servers: &rows[range],
            end,
            pending_servers: (pending_servers > 0).then_some(pending_servers),
            failed_servers: (failed_servers > 0).then_some(failed_servers),
        };
        serde_json::to_string(&answer).unwrap_or_default()
    }))
}

/// A page of the tools of one server.
pub fn tools(server: &str, all: &[&Tool], cursor: Option<&str>) -> Result<String, BadCursor> {
    let from = position(cursor, all.len())?;
    let rows: Vec<ToolRow<'_>> = all
        .iter()
        .map(|tool| ToolRow {
            name: tool.id.tool(),
            summary: summary(tool, 80),
            enabled: tool.enabled,
            tags: &tool.tags[..tool.tags.len().min(8)],
        })
        .collect();
    Ok(page(rows.len(), from, |range, end| {
        let answer = ToolPage {
            server,
            tools: &rows[range],
            end,
        };
        serde_json::to_string(&answer).unwrap_or_default()
    }))
}

/// As many rows as fit from `from` on, one at least.
fn page(
    total: usize,
    from: usize,
    written: impl Fn(std::ops::Range<usize>, End) -> String,
) -> String {
    let text = |count: usize| {
        let to = from + count;
        let next = (to < total).then(|| to.to_string());
        written(
            from..to,
            End {
                total,
                returned: count,
                next,
            },
        )
    };
    let counts: Vec<usize> = (1..=total - from).collect();
    let fitting = counts.partition_point(|count| tokens::fits(&text(*count), LIST_TOKENS_MAX));
    text(fitting.max(1).min(total - from))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::catalog::ToolId;

    fn row(n: usize) -> ServerRow {
        ServerRow {
            name: format!("server-{n}"),
            description: "What this server is for, in one sentence that goes on. ".repeat(9),
            tool_count: 15,
            enabled_count: 12,
            status: "connected".into(),
            reason: None,
            since: None,
        }
    }

    /// Follows `next` to the end.
    fn walk(mut page: impl FnMut(Option<&str>) -> String, list: &str, name: &str) -> Vec<String> {
        let (mut names, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let text = page(cursor.as_deref());
            assert!(tokens::at_most(&text) <= LIST_TOKENS_MAX, "{text}");
            let value: Value = serde_json::from_str(&text).unwrap();
            let rows = value[list].as_array().unwrap();
            assert_eq!(value["returned"], rows.len());
            names.extend(
                rows.iter()
                    .map(|row| row[name].as_str().unwrap().to_owned()),
            );
            let Some(next) = value["next"].as_str() else {
                assert_eq!(value["total"], names.len());
                return names;
            };
            cursor = Some(next.to_owned());
        }
    }

    #[test]
    fn the_documented_shapes_are_kept() {
        let one = ServerRow {
            description: "GitHub API".into(),
            ..row(1)
        };
        assert_eq!(
            servers(vec![one], (0, 0), None).unwrap(),
            r#"{"servers":[{"name":"server-1","description":"GitHub API","toolCount":15,"enabledCount":12,"status":"connected"}],"total":1,"returned":1}"#
        );
        let away = ServerRow {
            description: String::new(),
            status: "error".into(),
            reason: Some("its process ended".into()),
            since: Some("2026-01-02T03:04:05Z".into()),
            ..row(2)
        };
        assert_eq!(
            servers(vec![away], (0, 0), None).unwrap(),
            r#"{"servers":[{"name":"server-2","toolCount":15,"enabledCount":12,"status":"error","reason":"its process ended","since":"2026-01-02T03:04:05Z"}],"total":1,"returned":1}"#
        );
        let mut tool = Tool::new(
            ToolId::new("github", "create_issue"),
            "Create an issue.",
            json!({}),
        );
        tool.enabled = false;
        tool.tags = vec!["github".into()];
        assert_eq!(
            tools("github", &[&tool], None).unwrap(),
            r#"{"server":"github","tools":[{"name":"create_issue","summary":"Create an issue","enabled":false,"tags":["github"]}],"total":1,"returned":1}"#
        );
        assert_eq!(
            servers(vec![], (3, 0), None).unwrap(),
            r#"{"servers":[],"total":0,"returned":0,"pending_servers":3}"#
        );
        assert_eq!(
            tools("x", &[], None).unwrap(),
            r#"{"server":"x","tools":[],"total":0,"returned":0}"#
        );
    }

    #[test]
    fn lists_as_long_as_the_documented_ones_cost_no_more_than_the_document_says() {
        let real = |text: &str| bpe_openai::o200k_base().count(text);
        let rows = [
            ("github", "GitHub API integration", 15, "connected"),
            ("filesystem", "File system operations", 8, "connected"),
            ("database", "Database queries", 12, "disconnected"),
        ];
        let rows = rows.map(|(name, description, tool_count, status)| ServerRow {
            name: name.into(),
            description: description.into(),
            tool_count,
            enabled_count: tool_count,
            status: status.into(),
            reason: None,
            since: None,
        });
        let text = servers(rows.into(), (0, 0), None).unwrap();
        assert!(real(&text) <= 200, "{}: {text}", real(&text));
        let shown = [
            ("create_issue", "Create a GitHub issue", "issues"),
            ("list_repos", "List GitHub repositories", "repos"),
            ("delete_repo", "Delete a GitHub repository", "dangerous"),
        ];
        let shown = shown.map(|(name, summary, tag)| {
            let mut tool = Tool::new(ToolId::new("github", name), summary, json!({}));
            tool.tags = vec!["github".into(), tag.into()];
            tool.enabled = tag != "dangerous";
            tool
        });
        let thrice: Vec<&Tool> = shown.iter().cycle().take(9).collect();
        let text = tools("github", &thrice, None).unwrap();
        assert!(real(&text) <= 300, "{}: {text}", real(&text));
    }

    #[test]
    fn every_server_and_tool_is_on_exactly_one_page() {
        let rows: Vec<ServerRow> = (0..300).map(row).collect();
        let names = walk(
            |cursor| servers(rows.clone(), (0, 0), cursor).unwrap(),
            "servers",
            "name",
        );
        assert_eq!(names.len(), 300);
        assert_eq!(names[299], "server-299");
        let all: Vec<Tool> = (0..500)
            .map(|n| {
                Tool::new(
                    ToolId::new("s", format!("tool_{n}")),
                    "Does a thing with what it gets",
                    json!({}),
                )
            })
            .collect();
        let all: Vec<&Tool> = all.iter().collect();
        let names = walk(|cursor| tools("s", &all, cursor).unwrap(), "tools", "name");
        assert_eq!(names.len(), 500);
    }

    #[test]
    fn a_cursor_that_leads_nowhere_is_refused() {
        for cursor in ["", "x", "0", "3", "-1", "99999999999999999999"] {
            assert_eq!(
                servers(vec![row(1), row(2), row(3)], (0, 0), Some(cursor)).unwrap_err(),
                BadCursor
            );
        }
        assert!(tools("s", &[], Some("1")).is_err());
        assert!(
            servers(vec![row(1), row(2)], (0, 0), Some("1"))
                .unwrap()
                .contains("server-2")
        );
    }
}
