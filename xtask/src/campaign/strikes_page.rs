//! What a campaign of strikes says: tables by algorithm, target, model and tier, and every strike that was not recovered.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result};
use serde_json::Value;

/// The setting in which every strike that changes the answer must be caught.
const WHOLE: &str = "all-tiers";
const COLUMNS: [&str; 9] = [
    "strikes",
    "masked",
    "detected_recovered",
    "detected_unrecovered",
    "silent",
    "panics",
    "timeouts",
    "clean_runs",
    "false_alarms",
];
/// Places in [`COLUMNS`] and in [`ENDS`].
const ENDS: [&str; 4] = ["masked", "detected_recovered", "detected_unrecovered", "silent"];
/// Columns of `strikes.csv` (docs/schemas.md).
const SEED: usize = 1;
const MODEL: usize = 5;
const TARGET: usize = 6;
const OUTCOME: usize = 12;
const TIER: usize = 13;

/// Strikes by how they ended.
type Ends = [u64; 4];

/// One setting's sums.
#[derive(Default)]
struct Sums {
    algorithms: BTreeMap<String, [u64; 9]>,
    targets: BTreeMap<(String, String), Ends>,
    models: BTreeMap<String, Ends>,
    /// Strikes that are no lasting damage, by algorithm.
    transient: BTreeMap<String, Ends>,
    /// Cost in percent, and the share of critical updates done again, by algorithm.
    costs: BTreeMap<String, (f64, f64)>,
    /// Strikes not recovered or silent, lasting damage left out: how to repeat them, with seeds.
    open: BTreeMap<String, Vec<String>>,
    /// Strikes on arcs that were not recovered.
    lasting: u64,
}

/// All settings.
#[derive(Default)]
pub(super) struct Page {
    settings: BTreeMap<String, Sums>,
    pub(super) cost_graph: String,
}

fn number(summary: &Value, key: &str) -> u64 {
    summary[key].as_u64().unwrap_or_default()
}

/// A summary in one line.
pub(super) fn short(summary: &Value) -> String {
    let of = |key| number(summary, key);
    format!(
        "{} strikes, {} masked, {} recovered, {} not recovered, {} silent, {} panics, {} timeouts, {} false alarms in {}",
        of("strikes"),
        of("masked"),
        of("detected_recovered"),
        of("detected_unrecovered"),
        of("silent"),
        of("panics"),
        of("timeouts"),
        of("false_alarms"),
        of("clean_runs")
    )
}

impl Page {
    /// Adds a cell; whether nothing happened that must not. `repeat` is the command with SEED for the seed.
    ///
    /// # Errors
    /// When a row is none.
    pub(super) fn add(
        &mut self,
        setting: &str,
        title: &str,
        summary: &Value,
        rows: &[csv::StringRecord],
        repeat: &str,
    ) -> Result<bool> {
        let sums = self.settings.entry(setting.to_owned()).or_default();
        let own = sums.algorithms.entry(title.to_owned()).or_default();
        own.iter_mut().zip(COLUMNS).for_each(|(sum, key)| *sum += number(summary, key));
        for row in rows {
            let field = |place: usize| row.get(place).with_context(|| format!("a row without column {place}: {row:?}"));
            let (target, model, outcome) = (field(TARGET)?, field(MODEL)?, field(OUTCOME)?);
            let end = ENDS.iter().position(|end| *end == outcome).with_context(|| format!("no outcome: {outcome}"))?;
            sums.targets.entry((target.to_owned(), field(TIER)?.to_owned())).or_default()[end] += 1;
            sums.models.entry(model.to_owned()).or_default()[end] += 1;
            let is_lasting = target == "graph";
            if !is_lasting {
                sums.transient.entry(title.to_owned()).or_default()[end] += 1;
            }
            match end {
                2 if is_lasting => sums.lasting += 1,
                2 | 3 => {
                    let words = format!("{} ({model} on {target}, {})", field(SEED)?, outcome.replace('_', " "));
                    sums.open.entry(repeat.to_owned()).or_default().push(words);
                }
                _ => {}
            }
        }
        let never: &[&str] = if setting == WHOLE {
            &["silent", "panics", "timeouts", "false_alarms"]
        } else {
            &["panics", "timeouts", "false_alarms"]
        };
        Ok(never.iter().all(|key| number(summary, key) == 0))
    }

    /// Adds what a setting costs.
    pub(super) fn cost(&mut self, setting: &str, title: &str, more_pct: f64, covered_pct: f64) {
        let sums = self.settings.entry(setting.to_owned()).or_default();
        sums.costs.insert(title.to_owned(), (more_pct, covered_pct));
    }

    /// The page.
    pub(super) fn markdown(&self, command: &str, build: &str) -> String {
        let mut text = format!("`{command}`, {build}.\n\n");
        if let Some(whole) = self.settings.get(WHOLE) {
            whole.describe(&mut text);
        }
        let alone: Vec<_> = self.settings.iter().filter(|(name, _)| *name != WHOLE).collect();
        if alone.is_empty() {
            return text;
        }
        let _ = write!(
            text,
            "\n#### Tier 1 alone\n\n`--certify off`, at two budgets. Caught: of the strikes that were noticed or changed the answer, those \
             noticed. Cost: main loop and drain over the baseline's main loop without faults on {}, interleaved, median.\n\n\
             | algorithm | budget | strikes | masked | noticed | silent | caught, 95 % | critical updates done again | cost |\n\
             |---|---:|---:|---:|---:|---:|---|---:|---:|\n",
            if self.cost_graph.is_empty() { "no graph" } else { &self.cost_graph }
        );
        for (name, sums) in alone {
            let budget = name.rsplit('-').next().unwrap_or_default();
            for (title, [strikes, masked, recovered, lost, silent, ..]) in &sums.algorithms {
                let noticed = recovered + lost;
                let cost = sums.costs.get(title);
                let cell = |words: Option<String>| words.unwrap_or_else(|| "not measured".into());
                let _ = writeln!(
                    text,
                    "| {title} | {budget} | {strikes} | {masked} | {noticed} | {silent} | {} | {} | {} |",
                    share(noticed, noticed + silent),
                    cell(cost.map(|(_, covered)| format!("{covered:.1} %"))),
                    cell(cost.map(|(more, _)| format!("{more:+.1} %"))),
                );
            }
        }
        text
    }
}

impl Sums {
    fn describe(&self, text: &mut String) {
        text.push_str(
            "| algorithm | strikes | masked | recovered | not recovered | silent | silent, 95 % | panics | timeouts | clean runs | false alarms |\n\
             |---|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|\n",
        );
        let mut total = [0; 9];
        let row = |text: &mut String, name: &str, sums: &[u64; 9]| {
            let [strikes, masked, recovered, lost, silent, panics, timeouts, clean, alarms] = sums;
            let (low, high) = wilson(*silent, *strikes);
            let _ = writeln!(
                text,
                "| {name} | {strikes} | {masked} | {recovered} | {lost} | {silent} | {:.3} to {:.3} % | {panics} | {timeouts} | {clean} | {alarms} |",
                low * 100.0,
                high * 100.0
            );
        };
        for (name, sums) in &self.algorithms {
            row(text, name, sums);
            total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
        }
        row(text, "all", &total);

        text.push_str("\n| target | found first by | strikes | masked | recovered | not recovered | silent |\n|---|---|---:|---:|---:|---:|---:|\n");
        for ((target, tier), ends) in &self.targets {
            let tier = if tier == "0" { "nobody".to_owned() } else { format!("tier {tier}") };
            let _ = writeln!(text, "| {target} | {tier} | {} |", cells(ends));
        }
        text.push_str(
            "\n| model | strikes | masked | recovered | not recovered | silent |\n|---|---:|---:|---:|---:|---:|\n",
        );
        for (model, ends) in &self.models {
            let _ = writeln!(text, "| {model} | {} |", cells(ends));
        }
        text.push_str("\nTransient strikes (all but those on arcs) that were detected:\n\n| algorithm | detected | recovered | 95 % |\n|---|---:|---:|---|\n");
        let mut all = (0, 0);
        for (name, [_, recovered, lost, _]) in &self.transient {
            let _ = writeln!(
                text,
                "| {name} | {} | {recovered} | {} |",
                recovered + lost,
                share(*recovered, recovered + lost)
            );
            all = (all.0 + recovered, all.1 + recovered + lost);
        }
        let _ = writeln!(text, "| all | {} | {} | {} |", all.1, all.0, share(all.0, all.1));
        let _ = writeln!(
            text,
            "\nNot recovered: {} strikes on arcs (lasting damage; the run says so and ends with exit code 1).",
            self.lasting
        );
        if self.open.is_empty() {
            text.push_str("No other strike was left unrecovered, and none was silent.\n");
        } else {
            text.push_str("Others, by the command that repeats them:\n\n");
        }
        for (repeat, seeds) in &self.open {
            let _ = writeln!(text, "- `{repeat}`: {}", seeds.join("; "));
        }
    }
}

fn cells(ends: &Ends) -> String {
    let n: u64 = ends.iter().sum();
    format!("{n} | {} | {} | {} | {}", ends[0], ends[1], ends[2], ends[3])
}

/// A share with its interval.
fn share(hits: u64, n: u64) -> String {
    if n == 0 {
        return "none".into();
    }
    let (low, high) = wilson(hits, n);
    format!("{:.1} % ({:.2} to {:.2})", 100.0 * hits as f64 / n as f64, 100.0 * low, 100.0 * high)
}

/// The 95 % interval of a share (Wilson 1927).
fn wilson(hits: u64, n: u64) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    if n == 0 {
        return (0.0, 1.0);
    }
    let (count, share) = (n as f64, hits as f64 / n as f64);
    let (middle, whole) = (share + Z * Z / (2.0 * count), 1.0 + Z * Z / count);
    let spread = Z * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
    // At the ends the formula gives 0 and 1, but for rounding.
    let low = if hits == 0 { 0.0 } else { (middle - spread) / whole };
    let high = if hits == n { 1.0 } else { (middle + spread) / whole };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seed: &str, target: &str, outcome: &str, tier: &str) -> csv::StringRecord {
        let row =
            ["0", seed, "bfs", "g", "1", "bit1", target, "0", "", "level", "2", "", outcome, tier, "", "", "0", "0"];
        csv::StringRecord::from(row.to_vec())
    }

    #[test]
    fn what_was_not_recovered_stands_with_its_seed_and_lasting_damage_is_apart() {
        let rows = [
            row("11", "field", "masked", "0"),
            row("12", "field", "detected_recovered", "1"),
            row("13", "field", "detected_unrecovered", "2"),
            row("14", "graph", "detected_unrecovered", "2"),
        ];
        let summary = serde_json::json!({
            "strikes": 4, "masked": 1, "detected_recovered": 1, "detected_unrecovered": 2, "silent": 0, "panics": 0,
            "timeouts": 0, "false_alarms": 0, "clean_runs": 3,
        });
        let mut page = Page::default();
        let repeat = "harness inject --repeat SEED";
        assert!(page.add(WHOLE, "bfs", &summary, &rows, repeat).expect("rows"));
        let text = page.markdown("cargo xtask campaign strikes", "release build");
        for line in [
            "| all | 4 | 1 | 1 | 2 | 0 | 0.000 to 48.989 % | 0 | 0 | 3 | 0 |",
            "| field | tier 1 | 1 | 0 | 1 | 0 | 0 |",
            "| field | nobody | 1 | 1 | 0 | 0 | 0 |",
            "| bit1 | 4 | 1 | 1 | 2 | 0 |",
            "| bfs | 2 | 1 | 50.0 % (9.45 to 90.55) |",
            "Not recovered: 1 strikes on arcs",
            "- `harness inject --repeat SEED`: 13 (bit1 on field, detected unrecovered)",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        let silent = serde_json::json!({ "strikes": 1, "silent": 1 });
        let rows = [row("15", "field", "silent", "0")];
        assert!(!page.add(WHOLE, "bfs", &silent, &rows, repeat).expect("rows"), "silent");
        assert!(page.add("tier-1-alone-1", "bfs", &silent, &rows, repeat).expect("rows"), "measured, not judged");
        page.cost("tier-1-alone-1", "bfs", 12.34, 56.78);
        let text = page.markdown("c", "b");
        assert!(text.contains("| bfs | 1 | 1 | 0 | 0 | 1 | 0.0 % (0.00 to 79.35) | 56.8 % | +12.3 % |"), "{text}");
        assert!(page.add(WHOLE, "bfs", &summary, &[csv::StringRecord::from(vec!["0"])], repeat).is_err(), "no row");
    }
}
