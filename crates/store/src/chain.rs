//! The chain that makes a removed, altered, moved or inserted record show.
//!
//! The hash of a record is BLAKE3 over the hash before it (as hex), a newline, and the record's line
//! as it is exported, without the `hash` member. Whoever has an export can compute it again. The
//! first record of a writer follows on the writer's genesis, and each genesis on the one before, so
//! that a writer that vanishes with all its records is missed by the writers after it. The newest has
//! none after it; it is noted outside the database as well, and missed by that note. Whoever takes out the
//! newest writers and the note, or writes a whole new chain, is found only by an export kept elsewhere.

use crate::audit::Record;

/// The genesis before the first writer.
pub(crate) const ORIGIN: &str = "toolcrib";

/// The hash of a record, given the hash before it and its place in the chain.
pub(crate) fn link(previous: &str, writer_id: &str, seq: i64, record: &Record) -> Linked {
    let line = record.line(writer_id, seq);
    let mut hasher = blake3::Hasher::new();
    hasher.update(previous.as_bytes());
    hasher.update(b"\n");
    hasher.update(line.as_bytes());
    Linked {
        hash: hasher.finalize().to_hex().to_string(),
        bytes: i64::try_from(line.len()).unwrap_or(i64::MAX),
    }
}

/// A record's hash and the size of its line.
pub(crate) struct Linked {
    pub(crate) hash: String,
    pub(crate) bytes: i64,
}

/// What a writer's chain starts from.
pub(crate) fn genesis(previous: &str, ordinal: i64, writer_id: &str, started_ms: i64) -> String {
    let text = format!("{previous}\n{ordinal}\n{writer_id}\n{started_ms}");
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::tests::record;

    #[test]
    fn a_hash_depends_on_place_content_and_past() {
        let base = link("p", "w", 1, &record("r1")).hash;
        assert_eq!(base, link("p", "w", 1, &record("r1")).hash);
        assert_ne!(base, link("q", "w", 1, &record("r1")).hash);
        assert_ne!(base, link("p", "v", 1, &record("r1")).hash);
        assert_ne!(base, link("p", "w", 2, &record("r1")).hash);
        assert_ne!(base, link("p", "w", 1, &record("r2")).hash);
        assert_ne!(genesis("a", 1, "w", 0), genesis("b", 1, "w", 0));
        assert_ne!(genesis("a", 1, "w", 0), genesis("a", 2, "w", 0));
    }

    #[test]
    fn the_hash_can_be_computed_from_the_exported_line() {
        let record = record("r1");
        let exported = record.line("w", 7);
        let by_hand = blake3::hash(format!("before\n{exported}").as_bytes());
        assert_eq!(
            link("before", "w", 7, &record).hash,
            by_hand.to_hex().to_string()
        );
    }
}
