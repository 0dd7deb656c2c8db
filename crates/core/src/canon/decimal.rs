//! Whether a number is still the same after it went through a double.

/// A decimal as written: its digits without zeros at either end, and the power of ten of the first.
/// Equal values are equal here, however they are written.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    magnitude: i64,
}

impl Decimal {
    /// Reads a number of JSON, or one that Rust wrote; `None` where its exponent is out of all reach.
    fn read(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (text, None),
        };
        let negative = mantissa.starts_with('-');
        let mantissa = mantissa.trim_start_matches('-');
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0');
        if digits.is_empty() {
            return Some(Self {
                negative: false,
                digits: String::new(),
                magnitude: 0,
            });
        }
        let leading = i64::try_from(all.len() - digits.len()).ok()?;
        let written = exponent.map_or(Some(0), |e| e.parse::<i64>().ok())?;
        let magnitude = i64::try_from(whole.len())
            .ok()?
            .checked_sub(leading)?
            .checked_add(written)?;
        Some(Self {
            negative,
            digits: digits.trim_end_matches('0').to_owned(),
            magnitude,
        })
    }
}

/// Whether the shortest text of the double that a number is read as has the number's own value.
/// Of all numbers that become one double, exactly one does.
pub(super) fn survives(number: &str) -> bool {
    let Ok(double) = number.parse::<f64>() else {
        return false;
    };
    let written = Decimal::read(number);
    written.is_some() && written == Decimal::read(&format!("{double:e}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_numbers_survive() {
        for number in [
            "0.1",
            "-0.1",
            "1e3",
            "1E+3",
            "1.50",
            "100.000",
            "0.0",
            "-0.0",
            "0e99999999999999999999",
            "3.141592653589793",
            "0.30000000000000004",
            "9007199254740992.0",
            "1e300",
            "5e-324",
            "1.7976931348623157e308",
            "12345.6789e-2",
        ] {
            assert!(survives(number), "{number}");
        }
    }

    #[test]
    fn numbers_that_become_another_do_not() {
        for number in [
            "9007199254740993.0",
            "9007199254740993e0",
            "9.007199254740993e15",
            "0.10000000000000000001",
            "1.00000000000000000000000001",
            "3.14159265358979323846",
            "1e-400",
            "1e400",
            "1e99999999999999999999",
        ] {
            assert!(!survives(number), "{number}");
        }
    }

    proptest! {
        #[test]
        fn every_double_survives_as_it_is_written(double in any::<f64>().prop_filter("finite", |d| d.is_finite())) {
            let text = serde_json::to_string(&double).unwrap();
            prop_assert!(survives(&text), "{}", text);
        }

        #[test]
        fn two_numbers_of_one_double_that_survive_are_equal(a in "[0-9]{1,20}\\.[0-9]{1,20}", b in "[0-9]{1,3}") {
            let longer = format!("{a}{b}");
            if survives(&a) && survives(&longer) && a.parse::<f64>() == longer.parse::<f64>() {
                prop_assert_eq!(Decimal::read(&a), Decimal::read(&longer));
            }
        }
    }
}
