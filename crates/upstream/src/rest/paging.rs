//! How to get the next page, where an answer says so.

use http::{HeaderMap, header};
use serde_json::{Map, Value};
use url::Url;

use super::answer::Content;
use super::operation::{Operation, Spot};

/// Where APIs keep the cursor or the address of the next page.
const PLACES: [&str; 16] = [
    "/next",
    "/next_cursor",
    "/nextCursor",
    "/next_page",
    "/next_page_token",
    "/nextPageToken",
    "/next_page_url",
    "/next_page_uri",
    "/next_marker",
    "/meta/next",
    "/meta/next_cursor",
    "/meta/next_page_url",
    "/links/next",
    "/paging/next",
    "/response_metadata/next_cursor",
    "/next_page/offset",
];

/// Names that parameters for a cursor have, best first.
const CURSORS: [&str; 12] = [
    "cursor",
    "page_token",
    "pageToken",
    "next_token",
    "starting_after",
    "start_cursor",
    "marker",
    "next_marker",
    "offset",
    "after",
    "next",
    "page",
];

/// The arguments for the next page; `next` with what the API says where they are not known.
pub(super) fn next(operation: &Operation, headers: &HeaderMap, content: &Content) -> Option<Value> {
    if let Some(link) = linked(headers) {
        return Some(of_address(operation, &link));
    }
    let Content::Json(value) = content else {
        return None;
    };
    let found = PLACES.iter().find_map(|place| {
        let value = value.pointer(place)?;
        let said = value.as_str().is_some_and(|text| !text.is_empty()) || value.is_u64();
        said.then_some(value)
    });
    if let Some(found) = found {
        return match found.as_str() {
            Some(text) if text.starts_with("http") || text.starts_with('/') => {
                Some(of_address(operation, text))
            }
            _ => Some(of_cursor(operation, found)),
        };
    }
    last_of(operation, value)
}

/// `{has_more: true, data: […]}`: the next page starts after the last one.
fn last_of(operation: &Operation, value: &Value) -> Option<Value> {
    if value.get("has_more") != Some(&Value::Bool(true)) {
        return None;
    }
    let input = query(operation, "starting_after")?;
    let last = value.get("data")?.as_array()?.last()?.get("id")?;
    Some(Value::Object(Map::from_iter([(
        input.to_owned(),
        fitting(operation, input, last.clone()),
    )])))
}

fn query<'a>(operation: &'a Operation, name: &str) -> Option<&'a str> {
    let inputs = operation.inputs.iter();
    let mut here = inputs.filter(|i| matches!(i.spot, Spot::Query | Spot::Body) && i.name == name);
    here.next().map(|input| input.argument.as_str())
}

fn of_cursor(operation: &Operation, cursor: &Value) -> Value {
    let known = CURSORS.iter().find_map(|name| query(operation, name));
    let argument = known.unwrap_or("next");
    Value::Object(Map::from_iter([(
        argument.to_owned(),
        fitting(operation, argument, cursor.clone()),
    )]))
}

/// A value as the argument's schema wants it: a number where it is one, a text where a number was given for one.
fn fitting(operation: &Operation, argument: &str, value: Value) -> Value {
    let schema = &operation.tool.input_schema["properties"][argument];
    let wants = |kind: &str| match &schema["type"] {
        Value::String(one) => one == kind,
        Value::Array(several) => several.iter().any(|one| one == kind),
        _ => false,
    };
    match &value {
        Value::String(text) if !wants("string") => {
            let number = wants("integer") || wants("number");
            let read: Option<Value> = serde_json::from_str(text).ok();
            match read {
                Some(read)
                    if number && read.is_number() || wants("boolean") && read.is_boolean() =>
                {
                    read
                }
                _ => value,
            }
        }
        Value::Number(number) if wants("string") && !wants("integer") && !wants("number") => {
            number.to_string().into()
        }
        _ => value,
    }
}

/// The parameters of the address that the operation knows.
fn of_address(operation: &Operation, address: &str) -> Value {
    let base = Url::parse("https://next.invalid/").ok();
    let url = base.and_then(|base| base.join(address).ok());
    let pairs = url
        .iter()
        .flat_map(|url| url.query_pairs().into_owned().collect::<Vec<_>>());
    let known: Map<String, Value> = pairs
        .filter_map(|(name, value)| {
            let argument = query(operation, &name)?;
            Some((
                argument.to_owned(),
                fitting(operation, argument, value.into()),
            ))
        })
        .collect();
    if known.is_empty() {
        return Value::Object(Map::from_iter([("next".to_owned(), address.into())]));
    }
    Value::Object(known)
}

/// The address in `Link: <…>; rel="next"`, whatever stands in the address.
fn linked(headers: &HeaderMap) -> Option<String> {
    let links = headers.get_all(header::LINK).iter();
    let links = links.filter_map(|value| value.to_str().ok());
    links.flat_map(links_of).find_map(|(address, parameters)| {
        let mut rels = parameters.split(';').filter_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            let is_rel = name.trim().eq_ignore_ascii_case("rel");
            is_rel.then(|| value.trim().trim_matches('"'))
        });
        let next = |rel: &str| rel.split(' ').any(|one| one.eq_ignore_ascii_case("next"));
        rels.any(next).then(|| address.to_owned())
    })
}

/// Each link of a header: its address and its parameters.
fn links_of(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once('<')?;
        let (address, after) = after.split_once('>')?;
        // The next link begins after a comma that stands outside of quotes.
        let mut quoted = false;
        let end = after.find(|char| {
            quoted ^= char == '"';
            char == ',' && !quoted
        });
        let (parameters, more) = after.split_at(end.unwrap_or(after.len()));
        rest = more;
        Some((address, parameters))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_whose_address_holds_a_comma_is_found() {
        let table = [
            (
                "</o?fields=a,b&page=2>; rel=\"next\"",
                Some("/o?fields=a,b&page=2"),
            ),
            (
                "</a;x>; title=\"a, <b>\"; rel=prev, </c>;rel=next",
                Some("/c"),
            ),
            ("</a>; rel=\"last next\"", Some("/a")),
            ("</a>, </b>; rel=\"first\"", None),
            ("nothing", None),
        ];
        for (text, expected) in table {
            let headers = HeaderMap::from_iter([(header::LINK, text.parse().unwrap())]);
            assert_eq!(linked(&headers).as_deref(), expected, "{text}");
        }
    }
}
