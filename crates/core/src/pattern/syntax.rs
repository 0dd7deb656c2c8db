//! The tree that globs and regular expressions are read into before an engine runs them.

use super::fold::fold_char;
use crate::limits;

/// The characters that end a line in JavaScript; `.` and the wildcards of globs stop at them.
pub(super) const LINE_BREAKS: [char; 4] = ['\n', '\r', '\u{2028}', '\u{2029}'];

/// The characters of JavaScript's `\w`, also without the `u` flag.
pub(super) const WORD: &[(char, char)] = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];

/// One node of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// Matches the empty text.
    Empty,
    /// This character.
    Char(char),
    /// Any character but a line break.
    Dot,
    /// One character of a class.
    Class(Class),
    /// The start of the text.
    Start,
    /// The end of the text.
    End,
    /// The start of the text or of a line.
    LineStart,
    /// The end of the text or of a line.
    LineEnd,
    /// `\b`, or `\B` when negated.
    WordBoundary { negated: bool },
    /// A capturing group and its number, counted from 1.
    Capture(u32, Box<Node>),
    /// `(?i:…)` or `(?-i:…)`.
    Case { insensitive: bool, node: Box<Node> },
    /// One after the other.
    Concat(Vec<Node>),
    /// One of these.
    Alternate(Vec<Node>),
    /// The same several times.
    Repeat {
        node: Box<Node>,
        min: u32,
        max: Option<u32>,
        greedy: bool,
    },
    /// `(?=…)`, `(?!…)`, `(?<=…)`, `(?<!…)`.
    Look {
        node: Box<Node>,
        behind: bool,
        negated: bool,
    },
    /// What the n-th capturing group matched.
    Reference(u32),
}

/// A set of characters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Class {
    pub(super) negated: bool,
    pub(super) ranges: Vec<(char, char)>,
    /// Unicode properties as they stand between the braces of `\p{…}`, with whether it was `\P`.
    pub(super) properties: Vec<(String, bool)>,
    /// Sets of which everything else belongs to the class: `\D`, `\W`, `\S`. They are kept apart
    /// because letter case is ignored before a set is turned round, not after.
    pub(super) outside: Vec<&'static [(char, char)]>,
}

impl Class {
    pub(super) fn of(ranges: &[(char, char)]) -> Self {
        Self {
            ranges: ranges.to_vec(),
            ..Self::default()
        }
    }

    pub(super) fn all_but(ranges: &'static [(char, char)]) -> Self {
        Self {
            outside: vec![ranges],
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.properties.is_empty() && self.outside.is_empty()
    }

    pub(super) fn everything() -> Self {
        Self::of(&[('\0', char::MAX)])
    }
}

impl Node {
    pub(super) fn children(&self) -> &[Node] {
        match self {
            Self::Capture(_, node)
            | Self::Case { node, .. }
            | Self::Repeat { node, .. }
            | Self::Look { node, .. } => std::slice::from_ref(node),
            Self::Concat(nodes) | Self::Alternate(nodes) => nodes,
            _ => &[],
        }
    }

    /// Whether this node or one below it fulfils the test.
    pub(super) fn any(&self, test: &impl Fn(&Node) -> bool) -> bool {
        test(self) || self.children().iter().any(|child| child.any(test))
    }

    /// How many steps it unfolds to when every repetition is multiplied out.
    pub(super) fn steps(&self) -> usize {
        let below = |node: &Node| node.steps();
        match self {
            Self::Class(class) => {
                let sets = class.properties.len() + class.outside.len();
                1 + class.ranges.len() + 8 * sets
            }
            Self::Repeat { node, min, max, .. } => {
                let times = max.unwrap_or(min.saturating_add(1)).max(1);
                node.steps()
                    .saturating_mul(usize::try_from(times).unwrap_or(usize::MAX))
            }
            _ => self
                .children()
                .iter()
                .map(below)
                .fold(1, usize::saturating_add),
        }
    }

    /// Whether it never consumes a character.
    pub(super) fn is_zero_width(&self) -> bool {
        match self {
            Self::Char(_) | Self::Dot | Self::Class(_) | Self::Reference(_) => false,
            Self::Look { .. } => true,
            _ => self.children().iter().all(Node::is_zero_width),
        }
    }

    /// Whether it matches every text: it can match nothing at all, wherever the search stands first.
    pub(super) fn matches_everything(&self) -> bool {
        match self {
            Self::Empty | Self::Start | Self::LineStart => true,
            Self::Capture(_, node) | Self::Case { node, .. } => node.matches_everything(),
            Self::Concat(nodes) => nodes.iter().all(Node::matches_everything),
            Self::Alternate(nodes) => nodes.iter().any(Node::matches_everything),
            Self::Repeat { node, min, .. } => *min == 0 || node.matches_everything(),
            _ => false,
        }
    }

    /// Whether it matches every name, which has at least one character and no line break: as
    /// [`Self::matches_everything`], or one wildcard between anchors such as `^.+$`.
    pub(super) fn matches_every_name(&self) -> bool {
        let one = std::slice::from_ref(self);
        let mut nodes = match self {
            Self::Concat(nodes) => nodes,
            _ => one,
        };
        if let [Self::Start, rest @ ..] = nodes {
            nodes = rest;
        }
        if let [rest @ .., Self::End] = nodes {
            nodes = rest;
        }
        let wild = matches!(nodes, [Self::Repeat { node, min: 0 | 1, max: None, .. }]
            if **node == Self::Dot || **node == Self::Class(Class::everything()));
        wild || self.matches_everything()
    }

    /// Folded literals of which at least one occurs in every text that this node matches, or `None`
    /// where there is no such set of useful size.
    pub(super) fn needles(&self) -> Option<Vec<String>> {
        match self {
            Self::Char(c) => Some(vec![fold_char(*c).to_string()]),
            Self::Capture(_, node)
            | Self::Case { node, .. }
            | Self::Look {
                node,
                negated: false,
                ..
            } => node.needles(),
            Self::Repeat { node, min, .. } if *min > 0 => node.needles(),
            Self::Concat(nodes) => concat_needles(nodes),
            Self::Alternate(nodes) => {
                let mut all = Vec::new();
                for node in nodes {
                    all.extend(node.needles()?);
                }
                all.sort_unstable();
                all.dedup();
                (all.len() <= limits::PATTERN_NEEDLES_MAX).then_some(all)
            }
            _ => None,
        }
    }
}

fn concat_needles(nodes: &[Node]) -> Option<Vec<String>> {
    let mut best: Option<Vec<String>> = None;
    let mut offer = |found: Vec<String>| {
        if best.as_ref().is_none_or(|held| worth(&found) > worth(held)) {
            best = Some(found);
        }
    };
    let mut run = String::new();
    for node in nodes {
        if let Node::Char(c) = node {
            run.push(fold_char(*c));
            continue;
        }
        if !run.is_empty() {
            offer(vec![std::mem::take(&mut run)]);
        }
        if let Some(found) = node.needles() {
            offer(found);
        }
    }
    if !run.is_empty() {
        offer(vec![run]);
    }
    best
}

/// Long literals are rare in names, so the set whose shortest literal is longest filters best.
fn worth(needles: &[String]) -> usize {
    needles.iter().map(String::len).min().unwrap_or(0)
}
