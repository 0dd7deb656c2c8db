//! The signs of vectors: what two vectors agree on at a glance.
//!
//! The signs of a whole catalog are kept crosswise, a bit per tool for each number of the vectors, so
//! that one operation on a machine word looks at many tools at once.

use super::meaning::DIMENSIONS;

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
pub(crate) fn differing(a: &Signs, b: &Signs) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

/// A bit for each of [`LANE_TOOLS`] tools.
type Lane = [u64; 2];
const LANE_TOOLS: usize = 128;

/// Binary digits that count up to [`DIMENSIONS`].
const DIGITS: usize = 8;

/// How many signs differ, for the tools of a lane: a lane for each binary digit, the lowest first.
type Counts = [Lane; DIGITS];

/// The signs of many tools, crosswise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crosswise {
    /// For each [`LANE_TOOLS`] tools, a lane for each number of their vectors.
    blocks: Vec<[Lane; DIMENSIONS]>,
    tools: usize,
}

/// What a comparison needs; kept between searches, so that a search allocates none of it.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    counts: Vec<Counts>,
    /// Tools that are surely among the nearest, and those that may be.
    near: Vec<Lane>,
    open: Vec<Lane>,
}

impl Crosswise {
    /// The signs of tools in the order of their numbers.
    pub(crate) fn of<'a>(tools: impl Iterator<Item = &'a Signs>) -> Self {
        let mut out = Self::default();
        let mut rows = [[0_u64; 64]; DIMENSIONS / 64];
        for signs in tools {
            let at = out.tools % 64;
            for (half, bits) in rows.iter_mut().zip(signs) {
                half[at] = *bits;
            }
            out.tools += 1;
            if at == 63 {
                out.turn(&mut rows, (out.tools - 1) / 64);
            }
        }
        if out.tools % 64 > 0 {
            out.turn(&mut rows, out.tools / 64);
        }
        out
    }

    /// Puts in 64 tools, the `word`th such group, and empties their rows.
    fn turn(&mut self, rows: &mut [[u64; 64]; DIMENSIONS / 64], word: usize) {
        if self.blocks.len() <= word / 2 {
            self.blocks.push([[0; 2]; DIMENSIONS]);
        }
        let block = &mut self.blocks[word / 2];
        for (half, lanes) in rows.iter_mut().zip(block.chunks_mut(64)) {
            transpose(half);
            for (lane, bits) in lanes.iter_mut().zip(half.iter()) {
                lane[word % 2] = *bits;
            }
            half.fill(0);
        }
    }

    /// Calls `take` with the numbers of the `wanted` tools whose signs differ least from the wish's, and
    /// of those that differ as much as the last of them, in order.
    pub(crate) fn nearest(
        &self,
        wish: &Signs,
        wanted: usize,
        scratch: &mut Scratch,
        mut take: impl FnMut(u32),
    ) {
        let Scratch { counts, near, open } = scratch;
        let mut flips: [Lane; DIMENSIONS] = [[0; 2]; DIMENSIONS];
        for (at, flip) in flips.iter_mut().enumerate() {
            *flip = [0_u64.wrapping_sub((wish[at / 64] >> (at % 64)) & 1); 2];
        }
        counts.clear();
        counts.extend(self.blocks.iter().map(|block| count(block, &flips)));
        near.clear();
        near.resize(self.blocks.len(), [0; 2]);
        open.clear();
        open.resize(self.blocks.len(), [u64::MAX; 2]);
        if let Some(last) = open.last_mut() {
            *last = first_bits(self.tools - (self.blocks.len() - 1) * LANE_TOOLS);
        }
        if wanted < self.tools {
            narrow_down(counts, wanted, near, open);
        }
        for (block, (near, open)) in (0_u32..).zip(near.iter().zip(&*open)) {
            for (half, (near, open)) in (0_u32..).zip(near.iter().zip(open)) {
                let mut bits = near | open;
                while bits != 0 {
                    take(block * 128 + half * 64 + bits.trailing_zeros());
                    bits &= bits - 1;
                }
            }
        }
    }
}

/// A lane with its first bits set.
fn first_bits(count: usize) -> Lane {
    let bits = |count: usize| match count {
        0 => 0,
        1..=63 => (1 << count) - 1,
        _ => u64::MAX,
    };
    [bits(count), bits(count.saturating_sub(64))]
}

/// Settles digit by digit, the highest first, which count the `wanted`th tool has: those below it move to
/// `near`, those above it are taken out of `open`.
fn narrow_down(counts: &[Counts], wanted: usize, near: &mut [Lane], open: &mut [Lane]) {
    let mut wanted = wanted;
    for digit in (0..DIGITS).rev() {
        let zeros = counts.iter().zip(&*open).map(|(counts, open)| {
            let lane = &counts[digit];
            ((open[0] & !lane[0]).count_ones() + (open[1] & !lane[1]).count_ones()) as usize
        });
        let zeros: usize = zeros.sum();
        let is_zero = zeros >= wanted;
        if !is_zero {
            wanted -= zeros;
        }
        for (counts, (near, open)) in counts.iter().zip(near.iter_mut().zip(open.iter_mut())) {
            for half in 0..2 {
                let ones = counts[digit][half];
                if is_zero {
                    open[half] &= !ones;
                } else {
                    near[half] |= open[half] & !ones;
                    open[half] &= ones;
                }
            }
        }
    }
}

/// Adds three lanes bit by bit: the sum and what is carried.
#[inline]
fn add(a: Lane, b: Lane, c: Lane) -> (Lane, Lane) {
    let odd = [a[0] ^ b[0], a[1] ^ b[1]];
    let sum = [odd[0] ^ c[0], odd[1] ^ c[1]];
    let carried = [
        (a[0] & b[0]) | (odd[0] & c[0]),
        (a[1] & b[1]) | (odd[1] & c[1]),
    ];
    (sum, carried)
}

/// Counts the ones of four lanes into the two lowest digits; gives what is carried.
#[inline]
fn add_four(ones: &mut Lane, twos: &mut Lane, four: [Lane; 4]) -> Lane {
    let (sum, first) = add(*ones, four[0], four[1]);
    let (sum, second) = add(sum, four[2], four[3]);
    *ones = sum;
    let (sum, carried) = add(*twos, first, second);
    *twos = sum;
    carried
}

/// How many signs differ for each tool of a block; `flips` are the signs of the wish.
fn count(block: &[Lane; DIMENSIONS], flips: &[Lane; DIMENSIONS]) -> Counts {
    let mut sums: Counts = [[0; 2]; DIGITS];
    for (block, flips) in block
        .as_chunks::<16>()
        .0
        .iter()
        .zip(flips.as_chunks::<16>().0)
    {
        let at = |n: usize| [block[n][0] ^ flips[n][0], block[n][1] ^ flips[n][1]];
        let four = |n: usize| [at(n), at(n + 1), at(n + 2), at(n + 3)];
        let [ones, twos, fours, eights, higher @ ..] = &mut sums;
        let (first, second) = (add_four(ones, twos, four(0)), add_four(ones, twos, four(4)));
        let (sum, low) = add(*fours, first, second);
        let (first, second) = (
            add_four(ones, twos, four(8)),
            add_four(ones, twos, four(12)),
        );
        let (sum, high) = add(sum, first, second);
        *fours = sum;
        let (sum, mut carried) = add(*eights, low, high);
        *eights = sum;
        for digit in higher {
            let next = [digit[0] & carried[0], digit[1] & carried[1]];
            *digit = [digit[0] ^ carried[0], digit[1] ^ carried[1]];
            carried = next;
        }
    }
    sums
}

/// Turns rows into columns: bit `c` of row `r` becomes bit `r` of row `c`.
fn transpose(rows: &mut [u64; 64]) {
    let mut width = 32;
    let mut mask = 0x0000_0000_ffff_ffff_u64;
    while width > 0 {
        let mut row = 0;
        while row < 64 {
            let swapped = ((rows[row] >> width) ^ rows[row + width]) & mask;
            rows[row] ^= swapped << width;
            rows[row + width] ^= swapped;
            row = (row + width + 1) & !width;
        }
        width /= 2;
        mask ^= mask << width;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn the_nearest_are_those_that_one_by_one_differ_least(
            tools in prop::collection::vec(any::<Signs>(), 0..400),
            near in prop::collection::vec(0..DIMENSIONS, 0..60),
            wish in any::<Signs>(),
            wanted in 1_usize..200,
        ) {
            // Some tools that differ little, so that there are ties at the border.
            let near = near.iter().map(|at| {
                let mut signs = wish;
                signs[at / 64] ^= 1 << (at % 64);
                signs
            });
            let tools: Vec<Signs> = tools.into_iter().chain(near).collect();
            let mut levels: Vec<u32> = tools.iter().map(|t| differing(&wish, t)).collect();
            let all = levels.clone();
            levels.sort_unstable();
            let most = levels.get(wanted - 1).copied().unwrap_or(u32::MAX);
            let expect: Vec<u32> = (0_u32..)
                .zip(&all)
                .filter(|(_, level)| **level <= most)
                .map(|(number, _)| number)
                .collect();
            let mut found = Vec::new();
            let mut scratch = Scratch::default();
            let crosswise = Crosswise::of(tools.iter());
            for _ in 0..2 {
                found.clear();
                crosswise.nearest(&wish, wanted, &mut scratch, |number| found.push(number));
                prop_assert_eq!(&found, &expect);
            }
        }
    }
}
