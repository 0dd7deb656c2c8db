//! What a tool is about and what kind of act it is, read from the names of server and tool.
//!
//! Whole words count, never parts of them: a `highlight` server has nothing to do with GitHub. Singular
//! and plural agree: `get_pull_request` and `list_pull_requests` are both about `pull_requests`.

mod table;

use std::collections::BTreeMap;

use super::name::{singular, words};
use crate::written::Writer;

/// The built-in tables and what a user added to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inference {
    domains: BTreeMap<String, String>,
    categories: BTreeMap<String, String>,
}

impl Inference {
    /// The built-in tables, with words of server names that mean a domain and verbs that mean a
    /// category added; an added word overrules the built-in one.
    pub fn with<'a>(
        domains: impl IntoIterator<Item = (&'a str, &'a str)>,
        categories: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let own = |(word, meaning): (&str, &str)| (word.to_lowercase(), meaning.to_owned());
        Self {
            domains: domains.into_iter().map(own).collect(),
            categories: categories.into_iter().map(own).collect(),
        }
    }

    /// Writes down what a user added, so that two tables can be told apart.
    pub fn write(&self, to: &mut Writer) {
        for table in [&self.domains, &self.categories] {
            to.count(table.len());
            for (word, meaning) in table {
                to.text(word);
                to.text(meaning);
            }
        }
    }

    /// The domain of a server: `modelcontextprotocol/github` is about `github`, `aws-s3-server` about
    /// `cloud.aws`.
    pub fn primary_domain(&self, server: &str) -> String {
        let segment = server.rsplit('/').next().unwrap_or(server);
        let parts: Vec<String> = segment
            .split(|c: char| !c.is_alphanumeric())
            .filter(|part| !part.is_empty())
            .map(str::to_lowercase)
            .collect();
        if let Some(domain) = self.known_domain(&parts) {
            return domain.to_owned();
        }
        if let Some(domain) = self.known_domain(&words(segment)) {
            return domain.to_owned();
        }
        let telling: Vec<&str> = parts
            .iter()
            .map(String::as_str)
            .filter(|part| !table::GENERIC.contains(part))
            .collect();
        if telling.is_empty() {
            segment.to_lowercase()
        } else {
            telling.join("-")
        }
    }

    fn known_domain(&self, parts: &[String]) -> Option<&str> {
        let look = |word: &str| {
            let own = self.domains.get(word).map(String::as_str);
            own.or_else(|| table::domain(word))
        };
        let single = |at: usize| look(&parts[at]);
        let pair = |at: usize| {
            let next = parts.get(at + 1)?;
            look(&format!("{}-{next}", parts[at]))
        };
        (0..parts.len()).find_map(|at| pair(at).or_else(|| single(at)))
    }

    /// What a tool is about within its server: `list_issues` is about `issues`.
    pub fn sub_domain(&self, tool: &str) -> Option<String> {
        self.object(&words(tool))
    }

    /// The domains of a tool: the server's, and the narrower one where the tool's name tells.
    pub fn domains(&self, server: &str, tool: &str) -> Vec<String> {
        let primary = self.primary_domain(server);
        let object = self.object(&without_prefix(words(tool), server, &primary));
        match object {
            Some(object) if object != primary => {
                let narrow = format!("{primary}.{object}");
                vec![primary, narrow]
            }
            _ => vec![primary],
        }
    }

    /// The categories of a tool, such as `crud.read`; `other` where its name tells nothing.
    pub fn categories(&self, server: &str, tool: &str) -> Vec<String> {
        let primary = self.primary_domain(server);
        let words = without_prefix(words(tool), server, &primary);
        let Some((at, category)) = self.verb(&words) else {
            return vec!["other".to_owned()];
        };
        let mut found = vec![category.to_owned()];
        if category == "search" {
            found.insert(0, "crud.read".to_owned());
        }
        let told = words
            .iter()
            .any(|word| table::MESSAGES.contains(&singular(word).as_str()));
        if words[at] == "post" && told {
            found.push("notify".to_owned());
        }
        found
    }

    fn category_of(&self, word: &str) -> Option<&str> {
        let own = self.categories.get(word).map(String::as_str);
        own.or_else(|| table::category(word))
    }

    /// The verb of a name: its first word, else its last, else a word that means searching.
    fn verb(&self, words: &[String]) -> Option<(usize, &str)> {
        let at = |at: usize| Some((at, self.category_of(words.get(at)?)?));
        let last = words.len().checked_sub(1)?;
        at(0).or_else(|| at(last)).or_else(|| {
            (0..last)
                .filter_map(at)
                .find(|(_, found)| *found == "search")
        })
    }

    /// What the verb of a name acts on, in the plural.
    fn object(&self, words: &[String]) -> Option<String> {
        let (at, _) = self.verb(words)?;
        let around = if at == 0 { &words[1..] } else { &words[..at] };
        let told = around
            .iter()
            .map(String::as_str)
            .skip_while(|word| table::FILLERS.contains(word))
            .take_while(|word| !table::PREPOSITIONS.contains(word));
        let mut nouns: Vec<String> = told.map(str::to_owned).collect();
        let head = nouns.pop()?;
        nouns.push(plural(&head));
        let phrase = nouns.join("_");
        Some(table::usual_name(&phrase).map_or(phrase, str::to_owned))
    }
}

/// The words of a tool's name without those that only repeat its server: `docker_list_containers`.
fn without_prefix(mut words: Vec<String>, server: &str, primary: &str) -> Vec<String> {
    let own = super::name::words(server);
    let repeats = words
        .iter()
        .take_while(|word| own.contains(word) || primary == word.as_str())
        .count();
    if repeats < words.len() && table::category(&words[0]).is_none() {
        words.drain(..repeats);
    }
    words
}

fn plural(noun: &str) -> String {
    if table::SAME_IN_PLURAL.contains(&noun) || (noun.ends_with('s') && !noun.ends_with("ss")) {
        return noun.to_owned();
    }
    let before_last = noun.chars().rev().nth(1);
    let vowel = before_last.is_some_and(|c| "aeiou".contains(c));
    match noun {
        _ if noun.ends_with('y') && !vowel => format!("{}ies", &noun[..noun.len() - 1]),
        _ if ["ss", "sh", "ch", "x", "z"]
            .iter()
            .any(|e| noun.ends_with(e)) =>
        {
            format!("{noun}es")
        }
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_domain_of_a_server_is_read_from_whole_words() {
        let known = Inference::default();
        for (server, domain) in [
            ("modelcontextprotocol/github", "github"),
            ("GitHub-MCP-Server", "github"),
            ("aws-s3-server", "cloud.aws"),
            ("google-cloud", "cloud.gcp"),
            ("my-postgres-db", "database"),
            ("myPostgres", "database"),
            ("highlight-server", "highlight"),
            ("offset-tool", "offset"),
            ("sequential-thinking", "sequential-thinking"),
            ("com.example/my.server", "my.server"),
            ("", ""),
        ] {
            assert_eq!(known.primary_domain(server), domain, "{server}");
        }
    }

    #[test]
    fn what_a_tool_is_about_is_the_object_of_its_verb() {
        let known = Inference::default();
        for (tool, about) in [
            ("list_issues", Some("issues")),
            ("get_pull_request", Some("pull_requests")),
            ("get_pr", Some("pull_requests")),
            ("pull_request_read", Some("pull_requests")),
            ("listIssues", Some("issues")),
            ("get_all_issues", Some("issues")),
            ("get_issue_by_id", Some("issues")),
            ("read_query", Some("queries")),
            ("create_repository", Some("repos")),
            ("fetch_inbox", Some("inboxes")),
            ("get_address", Some("addresses")),
            ("get_day", Some("days")),
            ("some_random_thing", None),
            ("query", None),
            ("", None),
        ] {
            assert_eq!(known.sub_domain(tool).as_deref(), about, "{tool}");
        }
        let domains = |server, tool| known.domains(server, tool).join(" ");
        assert_eq!(
            domains("docker", "docker_list_containers"),
            "docker docker.containers"
        );
        assert_eq!(domains("io.github.user/weather", "get_weather"), "weather");
        assert_eq!(domains("email-smtp", "send_email"), "email email.emails");
    }

    #[test]
    fn the_kind_of_act_is_read_from_the_verb() {
        let known = Inference::default();
        for (tool, categories) in [
            ("list_issues", "crud.read"),
            ("create_issue", "crud.create"),
            ("search_code", "crud.read search"),
            ("code_search", "crud.read search"),
            ("web_search_results", "crud.read search"),
            ("create_search_index", "crud.create"),
            ("post_message", "crud.create notify"),
            ("post_comment", "crud.create"),
            ("send_message", "notify"),
            ("run", "execute"),
            ("github_list_issues", "crud.read"),
            ("some_random_thing", "other"),
            ("", "other"),
        ] {
            assert_eq!(
                known.categories("github", tool).join(" "),
                categories,
                "{tool}"
            );
        }
    }

    #[test]
    fn a_user_adds_words() {
        let known = Inference::with(
            [("Acme", "crm"), ("github", "forge")],
            [("frobnicate", "transform")],
        );
        assert_eq!(
            known.domains("acme-api", "frobnicate_lead"),
            ["crm", "crm.leads"]
        );
        assert_eq!(known.categories("acme", "frobnicate_lead"), ["transform"]);
        assert_eq!(known.primary_domain("github"), "forge");
    }

    proptest! {
        #[test]
        fn any_names_give_at_least_one_domain_and_category(server in ".{0,12}", tool in ".{0,16}") {
            let known = Inference::default();
            prop_assert!(!known.domains(&server, &tool).is_empty());
            prop_assert!(!known.categories(&server, &tool).is_empty());
        }
    }
}
