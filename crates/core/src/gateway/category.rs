//! What kind of service an adapter is: as the configuration says, else by the words that are said of it.

use crate::catalog::name::{singular, words};

/// Words, names of providers among them, and the category that they speak for.
const WORDS: &[(&str, &[&str])] = &[
    (
        "payments",
        &[
            "adyen",
            "bank",
            "billing",
            "card",
            "charge",
            "checkout",
            "flutterwave",
            "invoice",
            "payment",
            "payout",
            "paypal",
            "paystack",
            "refund",
            "sabpaisa",
            "square",
            "stripe",
            "subscription",
            "transfer",
            "wallet",
            "wise",
        ],
    ),
    (
        "infrastructure",
        &[
            "aws",
            "azure",
            "cloud",
            "cloudflare",
            "cluster",
            "compute",
            "container",
            "deploy",
            "deployment",
            "digitalocean",
            "dns",
            "docker",
            "ec2",
            "endpoint",
            "gcp",
            "hosting",
            "kubernetes",
            "network",
            "ngrok",
            "server",
            "tunnel",
            "vercel",
        ],
    ),
    (
        "analytics",
        &[
            "amplitude",
            "analytic",
            "bigquery",
            "chart",
            "dashboard",
            "datadog",
            "funnel",
            "insight",
            "metric",
            "mixpanel",
            "monitoring",
            "posthog",
            "report",
            "segment",
            "statistic",
            "tracking",
        ],
    ),
    (
        "storage",
        &[
            "archive",
            "blob",
            "box",
            "bucket",
            "content",
            "document",
            "drive",
            "dropbox",
            "file",
            "filesystem",
            "folder",
            "image",
            "s3",
            "shutterstock",
            "storage",
            "upload",
        ],
    ),
    (
        "communication",
        &[
            "channel",
            "chat",
            "conversation",
            "discord",
            "email",
            "mail",
            "mailgun",
            "message",
            "messaging",
            "notification",
            "sendgrid",
            "slack",
            "sms",
            "telegram",
            "twilio",
            "voice",
            "whatsapp",
            "zoom",
        ],
    ),
];

/// What is known of an adapter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its title.
    pub title: &'a str,
    /// What it is for.
    pub description: &'a str,
}

/// The category of an adapter; `other` where its words speak for none, or for two alike.
pub fn of(configured: Option<&str>, facts: Facts<'_>) -> String {
    if let Some(configured) = configured.filter(|text| !text.trim().is_empty()) {
        return configured.trim().to_lowercase();
    }
    let mut points = [0_usize; 5];
    for (text, weight) in [(facts.id, 4), (facts.title, 2), (facts.description, 1)] {
        let mut said: Vec<String> = words(text).iter().map(|word| singular(word)).collect();
        said.sort();
        said.dedup();
        for (at, (_, known)) in WORDS.iter().enumerate() {
            let hits = said.iter().filter(|word| known.contains(&word.as_str()));
            points[at] += weight * hits.count();
        }
    }
    let most = points.iter().copied().max().unwrap_or(0);
    let leaders: Vec<usize> = (0..points.len()).filter(|at| points[*at] == most).collect();
    match leaders.as_slice() {
        [leader] if most > 0 => WORDS[*leader].0.to_owned(),
        _ => "other".to_owned(),
    }
}

/// Whether running a tool moves money: its adapter is about payments, or its name says so.
pub fn is_financial(adapter_category: &str, tool: &str) -> bool {
    const ACTS: [&str; 7] = [
        "charge", "pay", "payment", "payout", "refund", "transfer", "withdraw",
    ];
    adapter_category == "payments"
        || words(tool)
            .iter()
            .any(|word| ACTS.contains(&singular(word).as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_speak_for_a_category_and_the_configuration_decides() {
        for (configured, id, title, description, expect) in [
            (None, "paystack", "", "", "payments"),
            (
                None,
                "stripe-api-2024-04-10",
                "Stripe API",
                "The Stripe REST API.",
                "payments",
            ),
            (None, "ngrok-api", "", "", "infrastructure"),
            (
                None,
                "box",
                "Box Platform API",
                "Files and folders",
                "storage",
            ),
            (
                None,
                "x",
                "Slack Web API",
                "One way to interact",
                "communication",
            ),
            (None, "x", "", "Dashboards and metrics", "analytics"),
            (None, "boxing", "", "", "other"),
            (None, "s3-mail", "", "", "other"),
            (None, "", "", "", "other"),
            (Some("Payments"), "box", "", "", "payments"),
            (Some(" "), "box", "", "", "storage"),
        ] {
            let facts = Facts {
                id,
                title,
                description,
            };
            assert_eq!(of(configured, facts), expect, "{id} {title}");
        }
    }

    #[test]
    fn money_moves_where_the_adapter_or_the_name_says_so() {
        assert!(is_financial("payments", "create-order"));
        assert!(is_financial("other", "refund_order"));
        assert!(!is_financial("communication", "send-message"));
    }
}
