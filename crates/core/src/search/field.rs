//! The fields of a tool that are searched, and what a word in each of them weighs.

/// Where in a tool's definition a word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Field {
    /// The tool's name.
    Name,
    /// Its display title.
    Title,
    /// Name and aliases of its server.
    Server,
    /// What the server says about itself.
    About,
    /// The description.
    Description,
    /// Names of parameters.
    Parameter,
    /// Descriptions of parameters.
    ParameterText,
    /// Tags, domains and categories.
    Tag,
    /// Values that a parameter may take.
    Choice,
}

impl Field {
    /// Every field, in the order of their numbers.
    pub const ALL: [Self; FIELDS] = [
        Self::Name,
        Self::Title,
        Self::Server,
        Self::About,
        Self::Description,
        Self::Parameter,
        Self::ParameterText,
        Self::Tag,
        Self::Choice,
    ];

    /// The field in plain words, for explanations.
    pub fn label(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Title => "title",
            Self::Server => "server",
            Self::About => "server description",
            Self::Description => "description",
            Self::Parameter => "parameter",
            Self::ParameterText => "parameter description",
            Self::Tag => "tag",
            Self::Choice => "allowed value",
        }
    }

    pub(crate) const fn bit(self) -> u16 {
        1 << self as u8
    }
}

/// How many fields there are.
pub const FIELDS: usize = 9;

/// What the fields weigh in the lexical score.
///
/// [`Weights::default`] is what ships; other values exist for measuring.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// Weight of one occurrence, per field in the order of [`Field::ALL`].
    pub field: [f32; FIELDS],
    /// How much a long field dilutes its words, 0 to 1, per field.
    pub dilution: [f32; FIELDS],
    /// Number of weighted occurrences at which a word has half its effect.
    pub saturation: f32,
}

/// Typical number of words per field in real catalogs. Fixed rather than measured on the catalog
/// at hand: so a tool's own words weigh the same whatever else is installed beside it.
pub(crate) const TYPICAL_WORDS: [f32; FIELDS] = [3.0, 3.0, 2.0, 14.0, 16.0, 4.0, 24.0, 3.0, 6.0];

impl Default for Weights {
    fn default() -> Self {
        Self {
            field: [3.5, 2.5, 1.4, 0.3, 1.6, 0.7, 0.3, 0.7, 0.3],
            dilution: [0.3, 0.3, 0.2, 0.6, 0.5, 0.5, 0.6, 0.4, 0.6],
            saturation: 1.3,
        }
    }
}

/// Impacts are kept in steps of one `IMPACT_ONE`th.
pub(crate) const IMPACT_ONE: u32 = 4095;

impl Weights {
    /// The saturated weight of a word that stands `counts[f]` times in field `f` of a tool whose
    /// fields are `lengths` words long; in steps of [`IMPACT_ONE`].
    pub(crate) fn impact(&self, counts: &[u16; FIELDS], lengths: &[u32; FIELDS]) -> u16 {
        let mut frequency = 0.0_f32;
        for field in 0..FIELDS {
            if counts[field] == 0 {
                continue;
            }
            #[expect(
                clippy::cast_precision_loss,
                reason = "lengths are bounded far below 2^24"
            )]
            let relative = lengths[field] as f32 / TYPICAL_WORDS[field];
            let norm = 1.0 - self.dilution[field] + self.dilution[field] * relative;
            frequency += self.field[field] * f32::from(counts[field]) / norm;
        }
        let share = frequency / (self.saturation + frequency);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "share is between 0 and 1"
        )]
        let steps = (share * IMPACT_ONE as f32) as u16;
        steps.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_outweighs_description_and_repetition_saturates() {
        let weights = Weights::default();
        let lengths = [3; FIELDS];
        let at = |field: Field, count| {
            let mut counts = [0; FIELDS];
            counts[field as usize] = count;
            weights.impact(&counts, &lengths)
        };
        assert!(at(Field::Name, 1) > at(Field::Description, 1));
        assert!(at(Field::Description, 1) > at(Field::Tag, 1));
        assert!(at(Field::Description, 2) > at(Field::Description, 1));
        assert!(u32::from(at(Field::Name, u16::MAX)) <= IMPACT_ONE);
    }

    #[test]
    fn every_field_has_a_label_and_a_bit_of_its_own() {
        let mut bits = 0;
        for field in Field::ALL {
            assert!(!field.label().is_empty());
            assert_eq!(bits & field.bit(), 0);
            bits |= field.bit();
        }
    }
}
