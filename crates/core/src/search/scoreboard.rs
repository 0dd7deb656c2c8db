//! Sums of scores while words are gone through, one place per tool of the catalog.

use super::part::Posting;

/// What one tool has so far.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    sum: u32,
    /// The group that came last, counted from 1, above what it has added; 0 where none has come.
    last: u32,
}

/// Where the number of a group begins; what one group adds is below it.
const GROUP_SHIFT: u32 = 24;

/// Scores by tool; kept between searches, so that a search allocates none of it.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    lines: Vec<Line>,
    touched: Vec<u32>,
}

impl Scoreboard {
    /// Makes room for so many tools.
    pub(crate) fn prepare(&mut self, tools: usize) {
        if self.lines.len() < tools {
            self.lines.resize(tools, Line::default());
        }
    }

    /// Adds what a word says, to the tools from `base` on. Within a group only the strongest word
    /// counts; groups come one after the other, numbered from 1.
    #[inline]
    pub(crate) fn add(&mut self, base: u32, postings: &[Posting], group: u32, strength: u32) {
        let group = group << GROUP_SHIFT;
        for posting in postings {
            let number = base + posting.tool;
            let worth = (strength * u32::from(posting.impact)) >> 4;
            debug_assert!(worth >> GROUP_SHIFT == 0);
            let line = &mut self.lines[number as usize];
            if line.last < group {
                if line.last == 0 {
                    self.touched.push(number);
                }
                line.sum += worth;
                line.last = group + worth;
            } else if group + worth > line.last {
                line.sum += group + worth - line.last;
                line.last = group + worth;
            }
        }
    }

    /// What a tool has.
    pub(crate) fn sum(&self, number: u32) -> u32 {
        self.lines[number as usize].sum
    }

    /// Calls `take(number, sum)` for the tools that have anything, in no order; back to nothing.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(u32, u32)) {
        for &number in &self.touched {
            let line = std::mem::take(&mut self.lines[number as usize]);
            take(number, line.sum);
        }
        self.touched.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_a_group_the_strongest_word_counts_and_groups_add_up() {
        let posting = |tool, impact| Posting {
            tool,
            impact,
            fields: 0,
        };
        let mut board = Scoreboard::default();
        board.prepare(8);
        board.add(2, &[posting(0, 16), posting(1, 32)], 1, 10);
        board.add(2, &[posting(0, 48)], 1, 10);
        board.add(2, &[posting(1, 16)], 1, 10);
        board.add(2, &[posting(0, 16)], 2, 5);
        assert_eq!((board.sum(2), board.sum(3), board.sum(4)), (35, 20, 0));
        for expect in [&[(2, 35), (3, 20)][..], &[]] {
            let mut drained = Vec::new();
            board.drain(|number, sum| drained.push((number, sum)));
            assert_eq!(drained, expect);
            assert_eq!(board.sum(2), 0);
        }
    }
}
