//! What commands on the store share: they open it, work on it, and close it, whether or not a process
//! is running beside them.

use toolcrib_store::{Store, StoreError};

use super::{Context, running};
use crate::failure::Failure;
use crate::storage;

/// What a command wants of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Only to look at what is there.
    Look,
    /// To write to it.
    Change,
}

/// Runs `work`, which may only look, on the user's store.
pub(super) fn with_store<T>(
    context: &mut Context,
    work: impl AsyncFnOnce(&mut Context, &Store) -> Result<T, Failure>,
) -> Result<T, Failure> {
    on_store(context, Purpose::Look, work)
}

/// Runs `work`, which writes, on the user's store.
pub(super) fn with_store_to_change<T>(
    context: &mut Context,
    work: impl AsyncFnOnce(&mut Context, &Store) -> Result<T, Failure>,
) -> Result<T, Failure> {
    on_store(context, Purpose::Change, work)
}

fn on_store<T>(
    context: &mut Context,
    purpose: Purpose,
    work: impl AsyncFnOnce(&mut Context, &Store) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let config = context.loader().config()?;
    running::runtime()?.block_on(async {
        let (store, closed) = storage::open_to_look(&config, &context.surroundings).await?;
        let outcome = match hindrance(purpose, closed) {
            Ok(hindrance) => {
                tell_closed(context, hindrance.as_ref());
                work(context, &store).await
            }
            Err(error) => Err(error.into()),
        };
        store.close().await;
        outcome
    })
}

/// Why a store can only be read, or the error for a command that cannot write because of it. A disk
/// without space is said as that, not as the read-only store that it makes.
fn hindrance(
    purpose: Purpose,
    closed: Option<StoreError>,
) -> Result<Option<StoreError>, StoreError> {
    match closed {
        Some(full @ StoreError::Full) if purpose == Purpose::Change => Err(full),
        closed => Ok(closed),
    }
}

/// Says beside what follows that nothing can be written.
pub(super) fn tell_closed(context: &mut Context, closed: Option<&StoreError>) {
    if let Some(why) = closed {
        context
            .ui
            .note(format!("the store can only be read: {why}"));
    }
}

/// A time as people read it, to the second, in UTC.
pub(super) fn moment(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(
        |_| ms.to_string(),
        |at| at.strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// The same for programs, as the audit log has it: RFC 3339.
pub(super) fn timestamp(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| ms.to_string(), |at| format!("{at:.3}"))
}

/// A span such as `90d`, `12h`, `15m` or `30s` in milliseconds.
pub(super) fn span_ms(text: &str) -> Result<i64, String> {
    let wrong = || format!("{text} is no span of time; write 30s, 15m, 12h or 90d");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let number = &text[..text.len() - unit.len_utf8()];
    let seconds: i64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let number: u32 = number.parse().map_err(|_| wrong())?;
    i64::from(number)
        .checked_mul(seconds * 1000)
        .ok_or_else(wrong)
}

/// A point in time: RFC 3339, a date, or a span before now.
pub(super) fn since_ms(text: &str, now_ms: i64) -> Result<i64, String> {
    if let Ok(span) = span_ms(text) {
        return Ok(now_ms - span);
    }
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Ok(at.as_millisecond());
    }
    let date = text.parse::<jiff::civil::Date>();
    let at = date.and_then(|date| date.to_zoned(jiff::tz::TimeZone::UTC));
    at.map(|at| at.timestamp().as_millisecond()).map_err(|_| {
        format!("{text} is no point in time; write 2026-01-31, 2026-01-31T12:00:00Z, or a span before now such as 2h")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_not_called_read_only() {
        let full = || Some(StoreError::Full);
        assert!(matches!(
            hindrance(Purpose::Change, full()),
            Err(StoreError::Full)
        ));
        assert!(matches!(
            hindrance(Purpose::Look, full()),
            Ok(Some(StoreError::Full))
        ));
        assert!(matches!(hindrance(Purpose::Change, None), Ok(None)));
        let locked = StoreError::ReadOnly {
            path: "toolcrib.db".into(),
        };
        assert!(matches!(
            hindrance(Purpose::Change, Some(locked)),
            Ok(Some(StoreError::ReadOnly { .. }))
        ));
    }

    #[test]
    fn spans_and_points_in_time_are_read() {
        for (text, ms) in [
            ("30s", 30_000),
            ("15m", 900_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(span_ms(text), Ok(ms));
            assert_eq!(since_ms(text, 100_000_000), Ok(100_000_000 - ms));
        }
        for text in ["", "x", "5", "-1d", "1w", "99999999999d", "é"] {
            assert!(span_ms(text).unwrap_err().contains("no span"), "{text}");
        }
        assert_eq!(since_ms("1970-01-02", 0), Ok(86_400_000));
        assert_eq!(since_ms("1970-01-01T00:00:01Z", 0), Ok(1000));
        assert!(
            since_ms("yesterday", 0)
                .unwrap_err()
                .contains("no point in time")
        );
        assert_eq!(moment(1000), "1970-01-01 00:00:01");
        assert_eq!(moment(i64::MAX), i64::MAX.to_string());
    }
}
