//! `--watch`: how strikes end, while the campaign goes on. On a terminal a view that is drawn again and again, else a line now and
//! then. A strike that must not happen is said at once, watched or not.

use super::record::{Outcome, Row};
use crate::people::say;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Time between two lines where there is no terminal.
const EVERY: Duration = Duration::from_secs(5);
/// Classes of delays, by their first number.
const CLASSES: [u32; 7] = [0, 1, 2, 3, 5, 9, 17];

/// A view of a campaign.
pub(super) struct Watch {
    is_wanted: bool,
    bar: Option<ProgressBar>,
    tally: Tally,
    said: Instant,
}

/// What ended so far.
struct Tally {
    total: u32,
    outcomes: BTreeMap<Outcome, u64>,
    delays: [u64; CLASSES.len()],
}

impl Watch {
    /// For so many strikes.
    pub(super) fn new(is_wanted: bool, total: u32) -> Watch {
        let style = "{prefix} [{bar:40}] {pos} of {len}, {per_sec}, {eta} left\n{msg}";
        let style = ProgressStyle::with_template(style).ok().filter(|_| is_wanted && std::io::stderr().is_terminal());
        let bar = style.map(|style| ProgressBar::new(total.into()).with_style(style).with_prefix("strikes "));
        let tally = Tally { total, outcomes: BTreeMap::new(), delays: [0; CLASSES.len()] };
        Watch { is_wanted, bar, tally, said: Instant::now() }
    }

    /// A strike ended.
    pub(super) fn tell(&mut self, row: &Row) {
        self.tally.add(row);
        if row.outcome == Outcome::Silent || row.broke.is_some() {
            match &self.bar {
                Some(bar) => bar.suspend(|| say(&row.sentence())),
                None => say(&row.sentence()),
            }
        }
        if let Some(bar) = &self.bar {
            bar.set_message(self.tally.view());
            bar.inc(1);
        } else if self.is_wanted && (self.said.elapsed() >= EVERY || self.tally.is_over()) {
            say(&self.tally.line());
            self.said = Instant::now();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Tally {
    fn add(&mut self, row: &Row) {
        *self.outcomes.entry(row.outcome).or_default() += 1;
        if let Some(delay) = row.delay_rounds {
            let class = CLASSES.partition_point(|&first| first <= delay) - 1;
            self.delays[class] += 1;
        }
    }

    fn done(&self) -> u64 {
        self.outcomes.values().sum()
    }

    fn is_over(&self) -> bool {
        self.done() == u64::from(self.total)
    }

    fn of(&self, outcome: Outcome) -> u64 {
        self.outcomes.get(&outcome).copied().unwrap_or(0)
    }

    /// The classes of delays that occur, with their counts.
    fn delays(&self) -> Vec<(String, u64)> {
        let name = |place: usize| match (CLASSES[place], CLASSES.get(place + 1)) {
            (first, Some(next)) if next - first == 1 => first.to_string(),
            (first, Some(next)) => format!("{first}-{}", next - 1),
            (first, None) => format!("{first}+"),
        };
        (0..CLASSES.len())
            .filter(|&place| self.delays[place] > 0)
            .map(|place| (name(place), self.delays[place]))
            .collect()
    }

    /// One line.
    fn line(&self) -> String {
        let outcomes: Vec<_> =
            Outcome::ALL.iter().map(|&outcome| format!("{} {}", self.of(outcome), outcome.words())).collect();
        let delays: Vec<_> = self.delays().into_iter().map(|(name, count)| format!("{name}: {count}")).collect();
        let delays = if delays.is_empty() { "none yet".into() } else { delays.join(", ") };
        format!(
            "watch    {} of {} strikes: {}; supersteps to a verdict: {delays}",
            self.done(),
            self.total,
            outcomes.join(", ")
        )
    }

    /// Several lines, with bars.
    fn view(&self) -> String {
        let whole = self.done().max(1) as f64;
        let bar = |name: &str, count: u64, of: f64| {
            let share = count as f64 / of;
            let stars = "\u{2588}".repeat((share * 30.0).round() as usize);
            format!("  {name:<24} {count:>7} {:>4.0} % {stars}\n", 100.0 * share)
        };
        let outcomes = Outcome::ALL.iter().map(|&outcome| bar(outcome.words(), self.of(outcome), whole));
        let delays = self.delays();
        let found = delays.iter().map(|(_, count)| count).sum::<u64>().max(1) as f64;
        let mut view: String = outcomes.collect();
        view += "supersteps from strike to verdict\n";
        view.extend(delays.iter().map(|(name, count)| bar(name, *count, found)));
        view.truncate(view.trim_end().len());
        view
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::row;
    use super::*;

    #[test]
    fn the_tally_counts_outcomes_and_classes_of_delays() {
        let mut tally = Tally { total: 6, outcomes: BTreeMap::new(), delays: [0; CLASSES.len()] };
        assert!(tally.line().ends_with("supersteps to a verdict: none yet"), "{}", tally.line());
        for delay in [None, Some(0), Some(4), Some(3), Some(16), Some(90)] {
            assert!(!tally.is_over());
            let outcome = if delay.is_some() { Outcome::DetectedRecovered } else { Outcome::Masked };
            tally.add(&Row { outcome, delay_rounds: delay, ..row("field", "bit1") });
        }
        assert!(tally.is_over());
        let line = "watch    6 of 6 strikes: 1 masked, 5 detected and recovered, 0 detected, not recovered, 0 SILENT; \
                    supersteps to a verdict: 0: 1, 3-4: 2, 9-16: 1, 17+: 1";
        assert_eq!(tally.line(), line);
        let view = tally.view();
        assert!(view.contains("detected and recovered         5   83 %") && view.contains("3-4"), "{view}");
    }
}
