//! This is what a caller may ask of the readers.

use crate::classify::Rules;

/// How files are read.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// How events are told apart.
    pub rules: Rules,
    /// Keep the calls that launched work: causes of idle time and steps need them. Memory then grows with calls, too.
    pub wants_launches: bool,
    /// Leave damaged events out, with a count, and take what a cut-off file has.
    pub recovers: bool,
}
