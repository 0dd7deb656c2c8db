//! Closed sets of words: an enum in the program, a `TEXT` in the database.

/// Declares such a set.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $( $(#[$variant_doc:meta])* $variant:ident = $word:literal, )* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
        pub enum $name { $( $(#[$variant_doc])* #[serde(rename = $word)] $variant, )* }

        impl $name {
            /// All of them, in the order of their declaration.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )* ];

            /// The word as it is stored and exported.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $word, )* }
            }

            /// Reads the stored word.
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.as_str() == word)
            }
        }
    };
}
pub(crate) use words;
