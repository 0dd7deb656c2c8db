//! Tools that are about the same things as the wish, whether or not they share a word with it.
//!
//! Every tool is looked at by the signs of its vector alone, two machine words; the vectors of
//! those whose signs agree best are then compared in full.

use std::cell::RefCell;

use super::index::Index;
use super::meaning::{DIMENSIONS, Packed, product};
use super::retrieve::by_name;
use crate::limits::{SEARCH_MEANING_CANDIDATES, SEARCH_MEANING_COMPARED};

/// Least likeness at which a tool is looked at without a word in common.
const LIKENESS_MIN: f32 = 0.3;

/// The signs of a vector, one bit each.
pub(crate) type Signs = [u64; DIMENSIONS / 64];

/// The signs of a vector.
pub(crate) fn signs(steps: &[i16; DIMENSIONS]) -> Signs {
    let mut out = Signs::default();
    for (at, step) in steps.iter().enumerate() {
        out[at / 64] |= u64::from(*step > 0) << (at % 64);
    }
    out
}

/// How many signs differ.
#[inline]
fn differing(a: &Signs, b: &Signs) -> u8 {
    // Ones are counted in both words together: not every processor counts them by itself.
    const PAIRS: u64 = 0x5555_5555_5555_5555;
    const FOURS: u64 = 0x3333_3333_3333_3333;
    const BYTES: u64 = 0x0f0f_0f0f_0f0f_0f0f;
    let fours = |x: u64| {
        let pairs = x - ((x >> 1) & PAIRS);
        (pairs & FOURS) + ((pairs >> 2) & FOURS)
    };
    let both = fours(a[0] ^ b[0]) + fours(a[1] ^ b[1]);
    let bytes = (both & BYTES) + ((both >> 4) & BYTES);
    bytes.wrapping_mul(0x0101_0101_0101_0101).to_be_bytes()[0]
}

/// How alike a wish and a tool are, -1 to 1.
pub(crate) fn likeness(index: &Index, number: u32, about: &Packed) -> f32 {
    let (slot, tool) = index.locate(number);
    let Some(part) = index.part(slot) else {
        return 0.0;
    };
    let tool = tool as usize;
    scaled(
        product(&about.steps, &part.vectors[tool]),
        about.scale * part.scales[tool],
    )
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a product of two vectors of bytes is below 2^24"
)]
fn scaled(product: i32, scale: f32) -> f32 {
    product as f32 * scale
}

/// What a comparison needs; kept between searches, so that a search allocates none of it.
#[derive(Default)]
struct Scratch {
    /// Per tool, how many signs differ.
    unlike: Vec<u8>,
    found: Vec<(f32, u32)>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Numbers of the tools that are most like the wish in meaning, the most alike first.
pub(crate) fn alike(index: &Index, about: &Packed, only: Option<u32>) -> Vec<u32> {
    if about.scale <= 0.0 {
        return Vec::new();
    }
    let wish = signs(&about.steps);
    let (base, slots) = match only {
        None => (0, &index.slots[..]),
        Some(slot) => (
            index.bases[slot as usize],
            &index.slots[slot as usize..=slot as usize],
        ),
    };
    SCRATCH.with_borrow_mut(|Scratch { unlike, found }| {
        unlike.clear();
        found.clear();
        for part in slots.iter().flatten() {
            unlike.extend(part.signs.iter().map(|tool| differing(&wish, tool)));
        }
        let most = farthest(unlike);
        for (number, _) in (base..).zip(&*unlike).filter(|(_, level)| **level <= most) {
            let likeness = likeness(index, number, about);
            if likeness >= LIKENESS_MIN {
                found.push((likeness, number));
            }
        }
        let order = |a: &(f32, u32), b: &(f32, u32)| {
            b.0.total_cmp(&a.0).then_with(|| by_name(index, a.1, b.1))
        };
        if found.len() > SEARCH_MEANING_CANDIDATES {
            found.select_nth_unstable_by(SEARCH_MEANING_CANDIDATES, order);
            found.truncate(SEARCH_MEANING_CANDIDATES);
        }
        found.sort_unstable_by(order);
        found.iter().map(|f| f.1).collect()
    })
}

/// The number of differing signs up to which tools are compared in full: enough for
/// [`SEARCH_MEANING_COMPARED`], those of one number together, so that no order matters.
fn farthest(unlike: &[u8]) -> u8 {
    let mut levels = [0_usize; 256];
    for level in unlike {
        levels[usize::from(*level)] += 1;
    }
    let mut tools = 0;
    let enough = levels.iter().position(|count| {
        tools += count;
        tools >= SEARCH_MEANING_COMPARED
    });
    enough
        .and_then(|level| u8::try_from(level).ok())
        .unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_tell_opposite_vectors_apart() {
        let mut steps = [1_i16; DIMENSIONS];
        let all = signs(&steps);
        assert_eq!(differing(&all, &all), 0);
        steps[3] = -5;
        steps[100] = 0;
        assert_eq!(differing(&all, &signs(&steps)), 2);
        assert_eq!(differing(&all, &signs(&[-1; DIMENSIONS])), 128);
    }

    #[test]
    fn tools_with_as_many_differing_signs_are_compared_together() {
        assert_eq!(farthest(&[]), u8::MAX);
        let mut levels = vec![30, 10, 30];
        levels.extend(vec![20; SEARCH_MEANING_COMPARED * 3]);
        assert_eq!(farthest(&levels), 20);
    }
}
