//! What a check says of a state or an answer: sound, or corrupt with the rule that is broken and the evidence.

/// What a check found.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// Every rule holds.
    Sound,
    /// A rule is broken.
    Corrupt(Finding),
}

/// Which rule is broken, where, by what.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The rule, as a claim that should hold.
    pub rule: String,
    /// The original ID of the first vertex that breaks it, if it is about one.
    pub vertex: Option<i64>,
    /// The value found and, where known, the right one.
    pub evidence: String,
}

impl Verdict {
    /// Sound if the claim holds; else corrupt, with the evidence.
    pub fn require(
        holds: bool,
        rule: impl Into<String>,
        vertex: Option<i64>,
        evidence: impl FnOnce() -> String,
    ) -> Verdict {
        if holds {
            Verdict::Sound
        } else {
            Verdict::Corrupt(Finding { rule: rule.into(), vertex, evidence: evidence() })
        }
    }

    /// This one if it is corrupt, else the other.
    pub fn and(self, other: Verdict) -> Verdict {
        if self.is_sound() { other } else { self }
    }

    /// Whether every rule holds.
    pub fn is_sound(&self) -> bool {
        matches!(self, Verdict::Sound)
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.vertex {
            Some(id) => write!(f, "rule broken: {} (vertex {id}: {})", self.rule, self.evidence),
            None => write!(f, "rule broken: {} ({})", self.rule, self.evidence),
        }
    }
}
