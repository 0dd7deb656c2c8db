//! One tool in full, as `get_tool_details` answers it.
//!
//! Types, what is required, listed values, defaults, formats and nesting are always there; texts are
//! shortened, the longest first, until the answer costs little, and only then is structure given up,
//! from the inside out. What was left out is marked, and the verbatim schema can be asked for.

mod parameter;

use serde::Serialize;
use serde_json::{Map, Value};

use self::parameter::Parameter;
use super::prose;
use crate::catalog::Tool;
use crate::limits::{DETAILS_PARAMETERS_MAX, DETAILS_TOKENS_MAX, DETAILS_TOKENS_WANTED};
use crate::schema;
use crate::schema::outline::{Outline, Reading};
use crate::schema::signature::Detail;
use crate::tokens;

/// How much of a tool is shown.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Longest text of a parameter, in characters; the tool's own may be somewhat longer.
    text: usize,
    /// How much of types is written out.
    types: Detail,
    /// How deep parameters inside parameters are listed with their texts.
    nesting: usize,
    /// Whether there is an example.
    example: bool,
    /// Most parameters of one list.
    parameters: usize,
}

/// Longest texts, tried until the answer costs what is wanted.
const TEXTS: [usize; 18] = [
    2_000, 1_000, 600, 400, 300, 240, 200, 160, 130, 100, 80, 64, 52, 44, 36, 30, 24, 20,
];

/// Below this the tool's own text, whose beginning was read in the search already, gives way before
/// those of its parameters, which were not.
const TEXT_SCARCE: usize = 44;

/// Where in [`TEXTS`] the texts of a tool stand that costs more than is wanted however short they are.
const TEXTS_OF_LARGE: usize = 10;

/// Texts and structure, tried until the answer costs what it may.
fn levels() -> impl Iterator<Item = Level> {
    let whole = Level {
        text: TEXTS[0],
        types: Detail {
            depth: 3,
            values: 64,
        },
        nesting: 8,
        example: true,
        parameters: DETAILS_PARAMETERS_MAX,
    };
    let least = Level {
        text: TEXTS[TEXTS_OF_LARGE],
        ..whole
    };
    let texts = TEXTS.into_iter().map(move |text| Level { text, ..whole });
    let thinner = [48, 32]
        .into_iter()
        .map(move |text| Level { text, ..least });
    let types = |depth, values| Detail { depth, values };
    let flatter = [
        Level {
            text: 24,
            types: types(2, 24),
            nesting: 3,
            ..least
        },
        Level {
            text: 24,
            types: types(2, 12),
            nesting: 2,
            ..least
        },
        Level {
            text: 24,
            types: types(1, 8),
            nesting: 1,
            ..least
        },
        Level {
            text: 16,
            types: types(1, 6),
            nesting: 0,
            ..least
        },
        Level {
            text: 0,
            types: types(1, 6),
            nesting: 0,
            ..least
        },
        Level {
            text: 0,
            types: types(0, 4),
            nesting: 0,
            ..least
        },
        Level {
            text: 0,
            types: types(0, 0),
            nesting: 0,
            ..least
        },
        Level {
            text: 0,
            types: types(0, 0),
            nesting: 0,
            example: false,
            ..least
        },
    ];
    let bare = Level {
        text: 0,
        types: types(0, 0),
        nesting: 0,
        example: false,
        ..least
    };
    let fewer = [120, 80, 50, 30, 15, 5, 0].into_iter().map(move |n| Level {
        parameters: n,
        ..bare
    });
    texts.chain(thinner).chain(flatter).chain(fewer)
}

/// What a door knows about a tool beside its definition; written where it says something.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// Whether rules switch the tool off.
    pub disabled: bool,
    /// What a call must carry beside its arguments, by the names of the options.
    pub needs: Vec<String>,
}

#[derive(Serialize)]
struct Answer<'a> {
    server: &'a str,
    tool: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    parameters: Vec<Value>,
    examples: Vec<Value>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    needs: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none", rename = "inputSchema")]
    input_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "outputSchema")]
    output_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// The details of a tool, of at most [`DETAILS_TOKENS_MAX`] tokens.
pub fn details(tool: &Tool, standing: &Standing) -> String {
    let reading = Reading::new(&tool.input_schema);
    let outline = reading.outline();
    let example = schema::sample(&tool.input_schema);
    let page = Page {
        tool,
        standing,
        outline: &outline,
        example: example.as_ref(),
    };
    let levels: Vec<Level> = levels().collect();
    let written = |level: &Level| page.written(level);
    // Within the texts, the first level that costs what is wanted.
    let (texts, rest) = levels.split_at(TEXTS.len());
    let wanted = first(texts, |level| {
        tokens::fits(&written(level), DETAILS_TOKENS_WANTED)
    });
    let text = written(wanted.unwrap_or(&texts[TEXTS_OF_LARGE]));
    if wanted.is_some() || tokens::fits(&text, DETAILS_TOKENS_MAX) {
        return text;
    }
    let level = first(rest, |level| {
        tokens::fits(&written(level), DETAILS_TOKENS_MAX)
    });
    written(level.unwrap_or(&rest[rest.len() - 1]))
}

/// The details of a tool with its schemas as the server sent them, however long.
pub fn verbatim(tool: &Tool, standing: &Standing) -> String {
    let reading = Reading::new(&tool.input_schema);
    let outline = reading.outline();
    let example = schema::sample(&tool.input_schema);
    let page = Page {
        tool,
        standing,
        outline: &outline,
        example: example.as_ref(),
    };
    let bare = Level {
        text: 0,
        types: Detail {
            depth: 1,
            values: 8,
        },
        nesting: 0,
        example: true,
        parameters: usize::MAX,
    };
    let (mut answer, _) = page.answer(&bare);
    answer.description = &tool.description;
    answer.input_schema = Some(&tool.input_schema);
    answer.output_schema = tool.output_schema.as_deref();
    answer.truncated = false;
    text_of(&answer)
}

/// The first level for which `fits` holds, if they cost less and less.
fn first(levels: &[Level], fits: impl Fn(&Level) -> bool) -> Option<&Level> {
    let at = levels.partition_point(|level| !fits(level));
    levels.get(at)
}

struct Page<'a> {
    tool: &'a Tool,
    standing: &'a Standing,
    outline: &'a Outline<'a>,
    example: Option<&'a Value>,
}

impl<'a> Page<'a> {
    fn written(&self, level: &Level) -> String {
        // The tool's own text is mostly the longest.
        let own = match level.text {
            0 => 0,
            text if text < TEXT_SCARCE => text + 8,
            text => text + 40,
        };
        let (description, cut) = prose::shorten(&self.tool.description, own);
        let (mut answer, cut_inside) = self.answer(level);
        answer.description = &description;
        answer.truncated = cut || cut_inside;
        text_of(&answer)
    }

    fn answer(&self, level: &Level) -> (Answer<'a>, bool) {
        let mut cut = false;
        let parameters = parameter::list(self.outline, level, &mut cut);
        let example = self.example.filter(|_| level.example);
        let examples = example.map(|value| {
            let mut shown = Map::new();
            shown.insert("description".into(), "minimal".into());
            shown.insert("parameters".into(), value.clone());
            Value::Object(shown)
        });
        let answer = Answer {
            server: self.tool.id.server(),
            tool: self.tool.id.tool(),
            description: "",
            enabled: self.standing.disabled.then_some(false),
            parameters: parameters.into_iter().map(Parameter::into_value).collect(),
            examples: examples.into_iter().collect(),
            needs: &self.standing.needs,
            input_schema: None,
            output_schema: None,
            truncated: false,
        };
        (answer, cut)
    }
}

fn text_of(answer: &Answer<'_>) -> String {
    serde_json::to_string(answer).unwrap_or_default()
}

#[cfg(test)]
mod tests;
