//! Which traces are recorded.

use toolcrib_core::trace::SpanContext;

/// What decides whether a span is recorded, as `OTEL_TRACES_SAMPLER` names it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// How many of the traces that are decided here are recorded, from 0 to 1.
    pub ratio: f64,
    /// Whether what the caller decided holds.
    pub follows_parent: bool,
}

impl Default for Sampler {
    /// Everything, unless the caller says otherwise: `parentbased_always_on`.
    fn default() -> Self {
        Self {
            ratio: 1.0,
            follows_parent: true,
        }
    }
}

impl Sampler {
    /// The sampler of this name; `ratio` counts where the name says that there is one.
    pub fn named(name: &str, ratio: f64) -> Option<Self> {
        let (rest, follows_parent) = match name.strip_prefix("parentbased_") {
            Some(rest) => (rest, true),
            None => (name, false),
        };
        let ratio = match rest {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => ratio.clamp(0.0, 1.0),
            _ => return None,
        };
        Some(Self {
            ratio,
            follows_parent,
        })
    }

    /// Whether a span of this trace is recorded. For one trace the answer is always the same.
    pub fn takes(&self, trace_id: [u8; 16], parent: Option<&SpanContext>) -> bool {
        if let Some(parent) = parent.filter(|_| self.follows_parent) {
            return parent.is_sampled();
        }
        let low = trace_id.last_chunk().copied().unwrap_or_default();
        // The highest bit is left out, so that the bound fits whatever the ratio.
        let drawn = u64::from_be_bytes(low) >> 1;
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of 2^63, where the last digits do not matter"
        )]
        let bound = (self.ratio * (1_u64 << 63) as f64) as u64;
        drawn < bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samplers_have_the_names_of_the_specification() {
        let check = |name: &str, expected: Option<(f64, bool)>| {
            let sampler = Sampler::named(name, 0.25);
            let found = sampler.map(|sampler| (sampler.ratio, sampler.follows_parent));
            assert_eq!(found, expected, "{name}");
        };
        check("always_on", Some((1.0, false)));
        check("always_off", Some((0.0, false)));
        check("traceidratio", Some((0.25, false)));
        check("parentbased_always_on", Some((1.0, true)));
        check("parentbased_always_off", Some((0.0, true)));
        check("parentbased_traceidratio", Some((0.25, true)));
        check("jaeger_remote", None);
        check("parentbased_", None);
    }

    #[test]
    fn a_share_of_traces_is_taken_and_a_parent_decides_where_it_counts() {
        let id = |first: u8| {
            let mut id = [0xff; 16];
            id[8] = first;
            id
        };
        let check = |name: &str, first: u8, parent: Option<&str>, expected: bool| {
            let parent = parent.and_then(|text| SpanContext::parse(text, None));
            let sampler = Sampler::named(name, 0.5).unwrap();
            assert_eq!(
                sampler.takes(id(first), parent.as_ref()),
                expected,
                "{name} {first}"
            );
        };
        let on = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let off = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
        check("traceidratio", 0x10, None, true);
        check("traceidratio", 0xf0, None, false);
        check("traceidratio", 0xf0, Some(on), false);
        check("parentbased_traceidratio", 0xf0, Some(on), true);
        check("parentbased_traceidratio", 0x10, Some(off), false);
        check("always_on", 0xff, Some(off), true);
        check("always_off", 0x00, Some(on), false);
        check("parentbased_always_on", 0xff, None, true);
    }
}
