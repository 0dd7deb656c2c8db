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
    /// The tools that have anything, the first `count` of these; as long as there are lines, and one
    /// place more, because a number is written down before it is known to be new.
    touched: Vec<u32>,
    count: usize,
}

impl Scoreboard {
    /// Makes room for so many tools.
    pub(crate) fn prepare(&mut self, tools: usize) {
        if self.lines.len() < tools {
            self.lines.resize(tools, Line::default());
            self.touched.resize(tools + 1, 0);
        }
    }

    /// Adds what a word says, to the tools from `base` on. Within a group only the strongest word
    /// counts; groups come one after the other, numbered from 1.
    ///
    /// There is no branch in it but that of the loop: which tools hold which words is not to be foreseen.
    #[inline]
    pub(crate) fn add(&mut self, base: u32, postings: &[Posting], group: u32, strength: u32) {
        let group = group << GROUP_SHIFT;
        let mut count = self.count;
        let (lines, touched) = (&mut self.lines[..], &mut self.touched[..]);
        for posting in postings {
            let number = base + posting.tool();
            let worth = (strength * posting.impact()) >> 4;
            debug_assert!(worth >> GROUP_SHIFT == 0);
            let line = &mut lines[number as usize];
            touched[count] = number;
            count += usize::from(line.last == 0);
            let before = line.last.max(group);
            let after = before.max(group + worth);
            line.sum += after - before;
            line.last = after;
        }
        self.count = count;
    }

    /// What a tool has.
    pub(crate) fn sum(&self, number: u32) -> u32 {
        self.lines[number as usize].sum
    }

    /// How many tools have anything.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The tools that have anything and what they have, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        let touched = self.touched[..self.count].iter();
        touched.map(|number| (*number, self.sum(*number)))
    }

    /// Back to nothing.
    pub(crate) fn clear(&mut self) {
        for number in &self.touched[..self.count] {
            self.lines[*number as usize] = Line::default();
        }
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_a_group_the_strongest_word_counts_and_groups_add_up() {
        let posting = Posting::new;
        let mut board = Scoreboard::default();
        board.prepare(8);
        board.add(2, &[posting(0, 16), posting(1, 32)], 1, 10);
        board.add(2, &[posting(0, 48)], 1, 10);
        board.add(2, &[posting(1, 16)], 1, 10);
        board.add(2, &[posting(0, 16)], 2, 5);
        assert_eq!((board.sum(2), board.sum(3), board.sum(4)), (35, 20, 0));
        assert_eq!(board.iter().collect::<Vec<_>>(), [(2, 35), (3, 20)]);
        board.clear();
        assert_eq!((board.len(), board.sum(2), board.sum(3)), (0, 0, 0));
        // Every line at once is still room enough.
        let all: Vec<Posting> = (0..8).map(|tool| posting(tool, 16)).collect();
        board.add(0, &all, 1, 10);
        board.add(0, &all, 2, 10);
        assert_eq!((board.len(), board.sum(7)), (8, 20));
    }
}
