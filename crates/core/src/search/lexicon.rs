//! Words that agents use for one another, and words that say nothing about the wish.

use std::sync::OnceLock;

use super::words::{QuickMap, Reader, WordId};

/// Words of questions, politeness and grammar: they carry no weight.
const EMPTY_WORDS: &str = "a an the this that these those there here it its it's he she they them their his her \
    i me my mine we us our ours you your yours who whom whose which what when where why how \
    is are was were be been being am do does did done doing have has had having \
    can could may might must shall should will would cannot can't don't \
    and or but nor so if then than as at by for from in into of on onto off to up with within without about \
    via per over under between through during before after until upon \
    please kindly help need needs want wants wanted like lets let let's hey hi hello thanks thank could \
    just also too very really some any each every all both few more most other such only own same \
    i'm i'd i'll i've you're we're he's she's that's what's there's isn't doesn't \
    able tell give using use used make sure know looking trying wondering interested \
    curious assist assistance provide provided lot bit kind sort way thing things something anything everything \
    someone anyone s t re ve ll d m";

/// Actions that stand in for one another. The first word names the group.
const ACTIONS: &[&str] = &[
    "create add new make insert register open generate compose establish build draft append write \
     remember memorize memorise",
    "delete remove destroy erase drop clear purge discard trash wipe uninstall forget",
    "update edit modify change alter set adjust patch revise amend rename replace",
    "get fetch read show retrieve view display obtain look load access check see return describe inspect",
    "list enumerate browse show all",
    "search find query lookup discover locate explore seek look",
    "send post submit deliver dispatch publish share notify message write",
    "run execute invoke start launch trigger perform call begin",
    "stop end terminate kill cancel abort halt close quit shutdown",
    "copy duplicate clone fork replicate",
    "move transfer relocate migrate",
    "convert transform translate encode decode format",
    "calculate compute evaluate determine solve",
    "analyze analyse examine assess evaluate inspect investigate",
    "download export save pull",
    "upload import push attach",
    "book reserve schedule arrange",
    "buy purchase order shop",
    "compare contrast diff",
    "validate verify check confirm test",
    "summarize summarise condense abstract",
    "merge combine join concatenate",
    "enable activate turn switch",
    "disable deactivate",
    "subscribe follow watch",
    "predict forecast estimate",
    "recommend suggest propose",
    "draw plot chart visualize render",
    "log record track monitor",
    "install setup configure deploy",
];

/// Things that stand in for one another.
const THINGS: &[&str] = &[
    "issue ticket bug task",
    "memory remember memorize recall knowledge",
    "message mail email",
    "repository repo",
    "directory folder",
    "file document doc",
    "image picture photo pic",
    "movie film",
    "picture image",
    "song track music",
    "user account member",
    "person people human",
    "company business organization organisation firm",
    "event appointment meeting calendar",
    "web website site page internet",
    "url link address",
    "weather forecast temperature climate",
    "price cost fee rate",
    "stock share equity ticker",
    "crypto cryptocurrency coin bitcoin",
    "database db",
    "app application",
    "pr pull",
    "comment reply note",
    "job position vacancy career",
    "hotel accommodation lodging",
    "flight airline plane",
    "car vehicle automobile",
    "place location venue spot",
    "direction route",
    "article news headline",
    "paper publication research study",
    "definition meaning",
    "statistic stat metric",
    "configuration config setting preference",
    "credential password login",
    "channel chat conversation",
    "branch ref",
    "container pod",
    "table spreadsheet sheet",
    "recipe dish meal food",
    "game match",
    "team club",
    "language locale",
    "doctor physician",
    "medicine drug medication",
    "disease illness condition",
    "video clip",
    "podcast episode",
    "holiday vacation trip travel",
    "currency money exchange",
    "summary overview",
    "detail information info data",
    "todo task",
    "log trace",
    "tweet twitter x",
    "function method",
    "dir directory",
    "env environment",
    "id identifier",
    "param parameter argument",
    "auth authentication authorization",
    "max maximum highest",
    "min minimum lowest",
    "avg average mean",
    "phone telephone mobile",
    "zip postal postcode",
    "country nation",
    "city town",
    "ip address",
    "quote quotation",
    "joke humor funny",
    "restaurant dining",
    "review rating feedback",
    "coupon discount deal promotion",
    "ai llm gpt",
];

/// How strongly a word of the same group of actions counts.
const ACTION_FACTOR: f32 = 0.45;
/// How strongly a word of the same group of things counts.
const THING_FACTOR: f32 = 0.5;

/// What the lexicon knows of one word.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Whether it carries no weight in a query.
    pub(crate) empty: bool,
    /// Groups of actions it belongs to, as bits.
    pub(crate) actions: u32,
    /// Words that may stand in for it, with their factors.
    pub(crate) akin: Vec<(WordId, f32)>,
}

/// The tables above, by word.
pub(crate) struct Lexicon {
    known: QuickMap<WordId, Known>,
    actions_by_short: QuickMap<u32, u32>,
}

impl Lexicon {
    /// The one lexicon.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Lexicon> = OnceLock::new();
        SHARED.get_or_init(Self::read)
    }

    fn read() -> Self {
        let mut reader = Reader::bare();
        let mut known: QuickMap<WordId, Known> = QuickMap::default();
        for piece in EMPTY_WORDS.split_whitespace() {
            for part in piece.split('\'') {
                known.entry(reader.word(part).id).or_default().empty = true;
            }
        }
        let mut group = |lines: &[&str], factor: f32, actions: bool| {
            for (number, line) in lines.iter().enumerate() {
                let ids: Vec<WordId> = line.split_whitespace().map(|w| reader.word(w).id).collect();
                for id in &ids {
                    let entry = known.entry(*id).or_default();
                    if actions {
                        entry.actions |= 1 << (number % 32);
                    }
                    for other in ids.iter().filter(|other| *other != id) {
                        if !entry.akin.iter().any(|(have, _)| have == other) {
                            entry.akin.push((*other, factor));
                        }
                    }
                }
            }
        };
        group(ACTIONS, ACTION_FACTOR, true);
        group(THINGS, THING_FACTOR, false);
        let actions_by_short = known
            .iter()
            .filter(|(_, k)| k.actions != 0)
            .map(|(id, k)| (super::part::short(*id), k.actions))
            .collect();
        Self {
            known,
            actions_by_short,
        }
    }

    /// What is known of a word, if anything.
    pub(crate) fn get(&self, id: WordId) -> Option<&Known> {
        self.known.get(&id)
    }

    /// The groups of the first word that is an action, looking at the first few; words are given
    /// by their short numbers.
    pub(crate) fn first_action(&self, words: &[u32]) -> Option<u32> {
        let groups = |word: &u32| self.actions_by_short.get(word).copied();
        words.iter().take(4).find_map(groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(word: &str) -> Known {
        let id = Reader::default().word(word).id;
        Lexicon::shared().get(id).cloned().unwrap_or_default()
    }

    #[test]
    fn polite_words_are_empty_and_verbs_are_not() {
        for word in ["please", "could", "you", "help", "me", "the"] {
            assert!(known(word).empty, "{word}");
        }
        for word in ["create", "issue", "weather", "delete"] {
            assert!(!known(word).empty, "{word}");
        }
    }

    #[test]
    fn interchangeable_words_meet() {
        for (one, other) in [
            ("remove", "delete"),
            ("destroy", "delete"),
            ("add", "create"),
            ("new", "create"),
            ("ticket", "issue"),
            ("mail", "message"),
            ("fetch", "get"),
            ("show", "read"),
            ("repo", "repository"),
        ] {
            let id = Reader::default().word(other).id;
            assert!(
                known(one).akin.iter().any(|(w, _)| *w == id),
                "{one} {other}"
            );
        }
    }

    #[test]
    fn groups_of_actions_fit_their_bits() {
        assert!(ACTIONS.len() <= 32);
        assert_ne!(known("delete").actions & known("remove").actions, 0);
        assert_eq!(known("delete").actions & known("create").actions, 0);
    }
}
