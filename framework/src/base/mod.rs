//! What every floor may use: errors, IDs, memory, exact sums, tallies, verdicts, checksums, and what a probe is told.

pub mod id;
pub mod error;
pub mod memory;
pub mod format;
pub mod sum;
pub mod tally;
pub mod verdict;
pub mod checksum;
pub mod probe;
