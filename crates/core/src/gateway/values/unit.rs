//! The unit that an amount counts in: that of the request, and that of the parameter.

use super::is_amount;
use crate::catalog::name::words;
use crate::gateway::money;
use crate::schema::outline::Field;

/// Words for a part of a currency's unit.
const PARTS: [&str; 26] = [
    "agorot",
    "cent",
    "centavo",
    "centavos",
    "centime",
    "centimes",
    "cents",
    "fils",
    "fractional",
    "hundredth",
    "hundredths",
    "kobo",
    "lowest",
    "minor",
    "ngwee",
    "paisa",
    "paise",
    "pence",
    "penny",
    "pesewa",
    "pesewas",
    "satoshi",
    "satoshis",
    "smallest",
    "subunit",
    "subunits",
];

/// Words for what is counted in.
const UNITS: [&str; 5] = ["denomination", "denominations", "unit", "units", "currency"];

/// What is to be asked where an amount may count in another unit than the request, which has it as
/// `stood`, currency included.
pub(super) fn question(field: &Field<'_>, stood: Option<&str>) -> Option<String> {
    let in_parts = stood.is_some_and(|stood| has(&words(stood), &PARTS));
    match (subunit(field), stood) {
        (Some(_), _) if in_parts => None,
        (Some(said), _) => Some(format!(
            "its description says: {said} Which number is meant in that unit?"
        )),
        (None, Some(stood)) if in_parts || is_amount(field) && is_silent(field) => Some(format!(
            "there it is {stood}, and its description does not say that it counts in that unit. Which number is meant?"
        )),
        (None, _) => None,
    }
}

/// Whether nothing says in which unit a whole number of money counts; most such count in parts.
fn is_silent(field: &Field<'_>) -> bool {
    let whole = field.outline.types.contains(&"integer") && !field.outline.allows("number");
    let said = field.outline.description().unwrap_or("");
    let tells =
        |word: &str| money::says_currency(word) || word != "currency" && UNITS.contains(&word);
    let named = words(said).iter().any(|word| tells(word))
        || said
            .split(|c: char| !c.is_alphabetic())
            .any(money::is_currency);
    whole && !named
}

/// What the description of an amount says, where it counts in a part of the currency's unit: the
/// sentence that says so.
fn subunit<'a>(field: &Field<'a>) -> Option<&'a str> {
    let said = field.outline.description()?;
    let tells = |sentence: &&str| {
        let told = words(sentence);
        has(&told, &PARTS) || has(&told, &["lower", "sub"]) && has(&told, &UNITS)
    };
    said.split_inclusive(". ").find(tells).map(str::trim_end)
}

fn has(said: &[String], any: &[&str]) -> bool {
    said.iter().any(|word| any.contains(&word.as_str()))
}
