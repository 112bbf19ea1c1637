//! Repairs count what was read although the grammar of JSON forbids it.

/// What was read although the grammar forbids it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Repairs {
    /// Byte sequences in strings that are no UTF-8.
    pub invalid_utf8: Count,
    /// Control characters in strings.
    pub control_characters: Count,
    /// Backslashes in strings that begin no escape, and halves of surrogate pairs.
    pub invalid_escapes: Count,
    /// `NaN`, `Infinity`, `-Infinity` or `N/A` as a value.
    pub not_numbers: Count,
    /// Events that were left out because their text is damaged.
    pub lost_events: Count,
    /// 1 if the text ends early.
    pub cut_off: Count,
}

/// How often, and where first.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    /// How often.
    pub count: u64,
    /// The byte at which it was seen first.
    pub first_at: u64,
}

impl Count {
    pub(crate) fn add(&mut self, at: u64) {
        if self.count == 0 {
            self.first_at = at;
        }
        self.count += 1;
    }
}
