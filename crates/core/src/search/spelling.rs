//! How far apart two spellings are, in typing errors.
//!
//! The distances between the beginnings of a word and of another are a table whose neighbouring
//! cells differ by at most one; a column of it is kept as the bits of two machine words, and the next
//! column follows from it in a handful of operations (Hyyrö, "A bit-vector algorithm for computing
//! Levenshtein and Damerau edit distances").

/// Most letters of a word that is compared.
const LETTERS_MAX: usize = 64;

/// A word that others are compared with.
pub(crate) struct Spelling {
    /// Where each letter stands in the word, a bit for each place.
    ascii: [u64; 128],
    other: Vec<(char, u64)>,
    len: usize,
}

impl Spelling {
    /// Reads a word; `None` where it is empty or too long to be compared.
    pub(crate) fn of(letters: &[char]) -> Option<Self> {
        if letters.is_empty() || letters.len() > LETTERS_MAX {
            return None;
        }
        let mut out = Self {
            ascii: [0; 128],
            other: Vec::new(),
            len: letters.len(),
        };
        for (place, letter) in letters.iter().enumerate() {
            let bit = 1 << place;
            if let Some(places) = out.ascii.get_mut(*letter as usize) {
                *places |= bit;
            } else if let Some(known) = out.other.iter_mut().find(|o| o.0 == *letter) {
                known.1 |= bit;
            } else {
                out.other.push((*letter, bit));
            }
        }
        Some(out)
    }

    fn places(&self, letter: char) -> u64 {
        if let Some(places) = self.ascii.get(letter as usize) {
            return *places;
        }
        let known = self.other.iter().find(|o| o.0 == letter);
        known.map_or(0, |o| o.1)
    }

    /// Number of insertions, deletions, exchanges and swaps of neighbours between the word and
    /// `other`; no letter takes part in two of them.
    pub(crate) fn distance(&self, other: &str) -> usize {
        // Whether the distance grows or shrinks by one from a cell to that below it.
        let (mut grows, mut shrinks) = (u64::MAX, 0_u64);
        // Whether a cell equals that above and left of it.
        let mut same = 0_u64;
        let mut before = 0_u64;
        let last = 1_u64 << (self.len - 1);
        let mut distance = self.len;
        for letter in other.chars() {
            let here = self.places(letter);
            let swapped = ((!same & here) << 1) & before;
            same = ((here & grows).wrapping_add(grows) ^ grows) | here | shrinks | swapped;
            let grows_right = shrinks | !(same | grows);
            let shrinks_right = same & grows;
            distance += usize::from(grows_right & last != 0);
            distance -= usize::from(shrinks_right & last != 0);
            let grows_right = (grows_right << 1) | 1;
            grows = (shrinks_right << 1) | !(same | grows_right);
            shrinks = grows_right & same;
            before = here;
        }
        distance
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn distance(a: &str, b: &str) -> usize {
        let letters: Vec<char> = a.chars().collect();
        Spelling::of(&letters).unwrap().distance(b)
    }

    /// The whole table, cell by cell.
    fn plain(a: &str, b: &str) -> usize {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                table[i][j] = if i == 0 || j == 0 {
                    i + j
                } else {
                    let exchanged = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    let mut best = exchanged.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                    if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                        best = best.min(table[i - 2][j - 2] + 1);
                    }
                    best
                };
            }
        }
        table[a.len()][b.len()]
    }

    #[test]
    fn swaps_of_neighbours_count_once() {
        let check = |a: &str, b: &str, expect: usize| assert_eq!(distance(a, b), expect, "{a} {b}");
        check("issue", "issue", 0);
        check("isseu", "issue", 1);
        check("isue", "issue", 1);
        check("repositry", "repository", 1);
        check("wether", "weather", 1);
        check("abc", "xyz", 3);
        check("calender", "calendar", 1);
        check("recieve", "receive", 1);
        check("größe", "grosse", 3);
        check("größe", "gröeß", 1);
    }

    #[test]
    fn what_cannot_be_compared_is_not() {
        assert!(Spelling::of(&[]).is_none());
        assert!(Spelling::of(&['a'; LETTERS_MAX]).is_some());
        assert!(Spelling::of(&['a'; LETTERS_MAX + 1]).is_none());
    }

    proptest! {
        #[test]
        fn it_is_the_distance_of_the_whole_table(a in "[abcé]{1,9}", b in "[abcéß]{0,12}") {
            prop_assert_eq!(distance(&a, &b), plain(&a, &b));
        }
    }

    #[test]
    fn the_longest_words_are_compared_to_the_last_letter() {
        let long = "abcdefgh".repeat(8);
        let other = format!("{}x", &long[..63]);
        assert_eq!(distance(&long, &long), 0);
        assert_eq!(distance(&long, &other), 1);
        assert_eq!(distance(&long, &long[1..]), 1);
    }
}
