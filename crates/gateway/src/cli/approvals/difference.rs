//! What changed between two texts, line by line.

use toolcrib_core::limits::DIFFERENCE_LINES_MAX;

/// One line of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change<'a> {
    /// In both.
    Kept(&'a str),
    /// Only in the old text.
    Removed(&'a str),
    /// Only in the new text.
    Added(&'a str),
}

/// The shortest way from one text to the other: what both share in order is kept.
pub(super) fn between<'a>(old: &'a str, new: &'a str) -> Vec<Change<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev());
    let end = end.take_while(|(a, b)| a == b).count();
    let old_middle = &old_rest[..old_rest.len() - end];
    let new_middle = &new_rest[..new_rest.len() - end];
    let mut changes: Vec<Change<'a>> = old[..start].iter().map(|l| Change::Kept(l)).collect();
    changes.extend(middle(old_middle, new_middle));
    changes.extend(old[old.len() - end..].iter().map(|l| Change::Kept(l)));
    changes
}

fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Change<'a>> {
    if old.len().max(new.len()) > DIFFERENCE_LINES_MAX {
        let removed = old.iter().map(|l| Change::Removed(l));
        return removed
            .chain(new.iter().map(|l| Change::Added(l)))
            .collect();
    }
    // `shared[i][j]`: how many lines the rests from `i` and `j` on have in common, in order.
    let width = new.len() + 1;
    let mut shared = vec![0u16; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            shared[i * width + j] = if old[i] == new[j] {
                shared[(i + 1) * width + j + 1] + 1
            } else {
                shared[(i + 1) * width + j].max(shared[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut changes = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            changes.push(Change::Kept(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && shared[(i + 1) * width + j] >= shared[i * width + j + 1])
        {
            changes.push(Change::Removed(old[i]));
            i += 1;
        } else {
            changes.push(Change::Added(new[j]));
            j += 1;
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn side<'a>(changes: &[Change<'a>], old: bool) -> Vec<&'a str> {
        let line = |change: &Change<'a>| match *change {
            Change::Kept(line) => Some(line),
            Change::Removed(line) => old.then_some(line),
            Change::Added(line) => (!old).then_some(line),
        };
        changes.iter().filter_map(line).collect()
    }

    #[test]
    fn what_both_have_is_kept_and_the_rest_is_told() {
        assert_eq!(
            between("a\nb\nc\nd", "a\nx\nc\ny\nd"),
            [
                Change::Kept("a"),
                Change::Removed("b"),
                Change::Added("x"),
                Change::Kept("c"),
                Change::Added("y"),
                Change::Kept("d"),
            ]
        );
        assert_eq!(between("", "a"), [Change::Added("a")]);
        assert_eq!(between("a", ""), [Change::Removed("a")]);
        assert_eq!(between("a", "a"), [Change::Kept("a")]);
    }

    #[test]
    fn texts_that_are_too_long_to_compare_are_shown_whole() {
        let old = "x\n".repeat(DIFFERENCE_LINES_MAX + 1);
        let new = "y\n".repeat(3);
        assert_eq!(between(&old, &new).len(), DIFFERENCE_LINES_MAX + 4);
    }

    proptest! {
        #[test]
        fn both_texts_can_be_read_back(old in "[abc\n]{0,20}", new in "[abc\n]{0,20}") {
            let changes = between(&old, &new);
            prop_assert_eq!(side(&changes, true), old.lines().collect::<Vec<_>>());
            prop_assert_eq!(side(&changes, false), new.lines().collect::<Vec<_>>());
        }
    }
}
