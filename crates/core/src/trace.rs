//! Where a request stands in somebody's trace, in the words of W3C Trace Context.
//!
//! What a caller sends is taken over only if it is exactly what the recommendation asks for: a
//! `traceparent` goes on to servers and into records, and is not a way to put text there.

use std::fmt;
use std::sync::Arc;

use crate::limits::{TRACESTATE_CHARS_MAX, TRACESTATE_MEMBERS_MAX};

/// The name of the field and header that says where a request stands.
pub const TRACEPARENT: &str = "traceparent";

/// The name of the field and header that carries what tracing systems add to it.
pub const TRACESTATE: &str = "tracestate";

/// The flag that says that a span is recorded.
const SAMPLED: u8 = 1;

/// The flags that are passed on: sampled, and that the trace id is random.
const KNOWN_FLAGS: u8 = 0b11;

/// The length of a `traceparent` of version 00.
const LENGTH: usize = 55;

/// A span of a trace: what its children name as their parent.
#[derive(Clone, PartialEq, Eq)]
pub struct SpanContext {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    flags: u8,
    state: Option<Arc<str>>,
}

impl SpanContext {
    /// The first span of a trace of its own. Ids come from the caller and must not be all zeros.
    pub fn root(trace_id: [u8; 16], span_id: [u8; 8], sampled: bool) -> Self {
        Self {
            trace_id,
            span_id,
            // What is drawn at random says so.
            flags: (KNOWN_FLAGS & !SAMPLED) | u8::from(sampled),
            state: None,
        }
    }

    /// A span below this one.
    #[must_use]
    pub fn child(&self, span_id: [u8; 8], sampled: bool) -> Self {
        Self {
            span_id,
            flags: (self.flags & !SAMPLED) | u8::from(sampled),
            ..self.clone()
        }
    }

    /// Reads `traceparent` and `tracestate`. Where the first is not as it must be there is no trace;
    /// where only the second is not, it is left out.
    pub fn parse(parent: &str, state: Option<&str>) -> Option<Self> {
        let bytes = parent.as_bytes();
        let version = hex::<1>(bytes.get(..2)?)?[0];
        let more = bytes.get(LENGTH);
        let ends_well = match version {
            0 => more.is_none(),
            0xff => return None,
            _ => more.is_none_or(|byte| *byte == b'-'),
        };
        let dashes = [2, 35, 52].iter().all(|at| bytes.get(*at) == Some(&b'-'));
        if !ends_well || !dashes {
            return None;
        }
        let trace_id = hex::<16>(bytes.get(3..35)?)?;
        let span_id = hex::<8>(bytes.get(36..52)?)?;
        let [flags] = hex::<1>(bytes.get(53..LENGTH)?)?;
        if trace_id == [0; 16] || span_id == [0; 8] {
            return None;
        }
        Some(Self {
            trace_id,
            span_id,
            flags: flags & KNOWN_FLAGS,
            state: state.filter(|state| is_state(state)).map(Arc::from),
        })
    }

    /// The value of `traceparent` for what is called from here.
    pub fn traceparent(&self) -> String {
        let (trace, span) = (self.trace_id(), self.span_id());
        format!("00-{trace}-{span}-{:02x}", self.flags)
    }

    /// The value of `tracestate`, as it came.
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The trace in 32 hexadecimal digits.
    pub fn trace_id(&self) -> String {
        digits(&self.trace_id)
    }

    /// The span in 16 hexadecimal digits.
    pub fn span_id(&self) -> String {
        digits(&self.span_id)
    }

    /// The bytes of the trace id.
    pub fn trace_bytes(&self) -> [u8; 16] {
        self.trace_id
    }

    /// Whether the span is recorded by who made it.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }
}

impl fmt::Debug for SpanContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SpanContext")
            .field(&self.traceparent())
            .finish()
    }
}

/// Lower-case hexadecimal digits as bytes; anything else is nothing.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    (digits.len() == 2 * N).then_some(bytes)
}

fn digits(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether a text is a list of `key=value` as `tracestate` has it, within its bounds.
fn is_state(text: &str) -> bool {
    let members = || text.split(',').map(str::trim).filter(|one| !one.is_empty());
    let mut keys: Vec<&str> = Vec::new();
    text.len() <= TRACESTATE_CHARS_MAX
        && members().next().is_some()
        && members().count() <= TRACESTATE_MEMBERS_MAX
        && members().all(|member| {
            let Some((key, value)) = member.split_once('=') else {
                return false;
            };
            let new = !keys.contains(&key);
            keys.push(key);
            new && is_key(key) && is_value(value)
        })
}

fn is_key(key: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/@".contains(&byte);
    let starts =
        key.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
    starts && key.len() <= 256 && key.bytes().all(plain)
}

fn is_value(value: &str) -> bool {
    let plain = |byte: u8| matches!(byte, 0x20..=0x7e) && byte != b',' && byte != b'=';
    !value.is_empty() && value.len() <= 256 && value.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_traceparent_is_taken_over_only_as_the_recommendation_writes_it() {
        let check = |text: &str, expected: Option<&str>| {
            let read = SpanContext::parse(text, None).map(|context| context.traceparent());
            assert_eq!(read.as_deref(), expected, "{text}");
        };
        check(PARENT, Some(PARENT));
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let rest = format!("{trace}-b7ad6b7169203331");
        check(&format!("00-{rest}-00"), Some(&format!("00-{rest}-00")));
        check(&format!("00-{rest}-ff"), Some(&format!("00-{rest}-03")));
        check(&format!("cc-{rest}-01"), Some(PARENT));
        check(&format!("cc-{rest}-01-what-comes"), Some(PARENT));
        for wrong in [
            String::new(),
            "00-1".into(),
            format!("ff-{rest}-01"),
            format!("0-{rest}-01"),
            format!("00-{rest}-01-more"),
            format!("cc-{rest}-01more"),
            format!("00-{rest}-1"),
            format!("00-{rest}-0g"),
            format!("00_{rest}-01"),
            format!("00-{}-b7ad6b7169203331-01", trace.to_uppercase()),
            format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!(" {PARENT}"),
            format!("00-{rest}-ö"),
        ] {
            check(&wrong, None);
        }
    }

    #[test]
    fn a_tracestate_that_is_not_one_is_left_out() {
        let check = |state: &str, kept: bool| {
            let context = SpanContext::parse(PARENT, Some(state)).unwrap();
            assert_eq!(context.tracestate(), kept.then_some(state), "{state}");
        };
        check("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true);
        check("fw529a3039@dt=FfAxxmkE, a = 1", false);
        check("fw529a3039@dt=Ff Ax, a=1,", true);
        check("", false);
        check(",", false);
        check("a", false);
        check("a=", false);
        check("a=1,a=2", false);
        check("A=1", false);
        check("a=\u{7}", false);
        check("a=b=c", false);
        let many = |count: usize| {
            let members: Vec<String> = (0..count).map(|n| format!("k{n}=1")).collect();
            members.join(",")
        };
        check(&many(32), true);
        check(&many(33), false);
        check(&format!("a={}", "x".repeat(257)), false);
        check(&format!("a={0},b={0},c=1", "x".repeat(255)), false);
    }

    #[test]
    fn a_child_stays_in_its_trace() {
        let parent = SpanContext::parse(PARENT, Some("a=1")).unwrap();
        let child = parent.child([7; 8], false);
        assert_eq!(child.trace_id(), parent.trace_id());
        assert_eq!(child.span_id(), "0707070707070707");
        assert_eq!(child.tracestate(), Some("a=1"));
        assert!(parent.is_sampled() && !child.is_sampled());
        let root = SpanContext::root([1; 16], [2; 8], true);
        let again = SpanContext::parse(&root.traceparent(), None);
        assert_eq!(again, Some(root));
    }

    proptest! {
        #[test]
        fn whatever_comes_what_goes_on_can_be_read(text in "[0-9a-f-]{50,60}|\\PC*", state in "\\PC*") {
            if let Some(read) = SpanContext::parse(&text, Some(&state)) {
                let again = SpanContext::parse(&read.traceparent(), read.tracestate());
                prop_assert_eq!(again, Some(read));
            }
        }
    }
}
