//! Tools that are about the same things as the wish, whether or not they share a word with it.
//!
//! Every tool is looked at by the signs of its vector alone, two machine words; the vectors of
//! those whose signs agree best are then compared in full.

use std::cell::RefCell;
use std::hint::black_box;

use super::index::Index;
use super::meaning::{DIMENSIONS, Packed, product};
use super::part::Part;
use super::retrieve::by_name;
use super::signs::{self, Signs, differing, signs};
use crate::limits::{SEARCH_MEANING_CANDIDATES, SEARCH_MEANING_COMPARED};

/// Least likeness at which a tool is looked at without a word in common.
const LIKENESS_MIN: f32 = 0.3;

/// How alike a wish and a tool of a part are, -1 to 1.
#[inline]
pub(crate) fn likeness(part: &Part, tool: usize, about: &Packed) -> f32 {
    scaled(
        product(&about.steps, &part.vectors[tool]),
        about.scale * part.scales[tool],
    )
}

/// Reads a little of all that [`likeness`] needs, as [`super::part::HeldWords::warm`] does.
#[inline]
pub(crate) fn warm(part: &Part, tool: usize) -> i8 {
    part.vectors[tool][0] ^ part.vectors[tool][DIMENSIONS / 2]
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
    signs: signs::Scratch,
    near: Vec<u32>,
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
    SCRATCH.with_borrow_mut(|Scratch { signs, near, found }| {
        near.clear();
        found.clear();
        let wanted = SEARCH_MEANING_COMPARED;
        match only {
            None => index
                .signs
                .nearest(&wish, wanted, signs, |number| near.push(number)),
            Some(slot) => near_in_part(index, slot, &wish, near),
        }
        let here = |number: u32| {
            let (slot, tool) = index.locate(number);
            Some((index.part(slot)?, tool as usize))
        };
        black_box(near.iter().fold(0, |sum, number| {
            sum ^ here(*number).map_or(0, |(part, tool)| warm(part, tool))
        }));
        for number in &*near {
            let Some((part, tool)) = here(*number) else {
                continue;
            };
            let likeness = likeness(part, tool, about);
            if likeness >= LIKENESS_MIN {
                found.push((likeness, *number));
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

/// The tools of one part whose signs agree best with the wish's: [`SEARCH_MEANING_COMPARED`], and those
/// that agree as much as the last of them, so that no order matters.
fn near_in_part(index: &Index, slot: u32, wish: &Signs, near: &mut Vec<u32>) {
    let Some(part) = index.part(slot) else {
        return;
    };
    let base = index.bases[slot as usize];
    let mut levels: Vec<u32> = part
        .signs
        .iter()
        .map(|tool| differing(wish, tool))
        .collect();
    let numbers = (base..).zip(levels.clone());
    let most = if levels.len() > SEARCH_MEANING_COMPARED {
        *levels.select_nth_unstable(SEARCH_MEANING_COMPARED - 1).1
    } else {
        u32::MAX
    };
    near.extend(numbers.filter(|(_, level)| *level <= most).map(|(n, _)| n));
}
