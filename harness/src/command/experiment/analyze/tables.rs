//! The tables of pairs, and the short of them for people.

use super::kinds::{Kind, Role, TOTALS};
use super::pairs::Pairing;
use super::statistics::{Interval, summary};
use crate::csv_table::Table;
use serde_json::Value;

fn identity(pairing: &Pairing) -> Vec<String> {
    vec![
        pairing.kind.name().into(),
        pairing.item.to_string(),
        pairing.algorithm.clone(),
        pairing.parameters.clone(),
        pairing.dataset.clone(),
        pairing.baseline.name.clone(),
        pairing.baseline.ranks.to_string(),
        pairing.labels[0].clone(),
        pairing.variant.name.clone(),
        pairing.variant.ranks.to_string(),
        pairing.labels[1].clone(),
        Value::Object(pairing.variant.protection.clone()).to_string(),
    ]
}

const IDENTITY: [&str; 12] = [
    "pair",
    "item",
    "algorithm",
    "parameters",
    "dataset",
    "baseline_method",
    "baseline_ranks",
    "baseline_label",
    "variant_method",
    "variant_ranks",
    "variant_label",
    "variant_protection",
];

fn header(rest: &[&str]) -> Vec<String> {
    IDENTITY.iter().chain(rest).map(|name| (*name).to_owned()).collect()
}

/// `pairs.csv`: a row a pair, repeat, total and part of it. A repeat that was not computed has one row with the reason and no numbers.
pub(super) fn table(pairings: &[Pairing]) -> Table {
    let own = [
        "repeat",
        "attempt_session_id",
        "baseline_attempt_id",
        "variant_attempt_id",
        "of",
        "field",
        "role",
        "baseline_ms",
        "variant_ms",
        "difference_ms",
        "difference_pct",
        "speedup",
        "warning",
    ];
    let mut rows = vec![header(&own)];
    for pairing in pairings {
        let warning = pairing.warnings().join("; ");
        for (place, source) in pairing.sources.iter().enumerate() {
            for metric in &pairing.metrics {
                let (base, other) = metric.values[place];
                let mut row = identity(pairing);
                row.extend([source.repeat.to_string(), source.session.clone()]);
                row.extend([source.baseline.clone(), source.variant.clone()]);
                row.extend([metric.of, metric.field, metric.role.name()].map(str::to_owned));
                row.extend([base, other, other - base].map(|ms| format!("{ms:.4}")));
                row.push(if base > 0.0 { format!("{:.4}", (other - base) / base * 100.0) } else { String::new() });
                row.push(if base > 0.0 && other > 0.0 { format!("{:.4}", base / other) } else { String::new() });
                row.push(warning.clone());
                rows.push(row);
            }
        }
        for refused in &pairing.refused {
            let mut row = identity(pairing);
            row.push(refused.repeat.to_string());
            row.resize(rows[0].len() - 1, String::new());
            row.push(refused.reason.clone());
            rows.push(row);
        }
    }
    rows
}

/// `summary.csv`: a row a pair, total, part and measure. A pair of which nothing was computed has one row with the reason and no numbers.
pub(crate) fn summary_table(pairings: &[Pairing]) -> Table {
    let own = ["of", "field", "role", "measure", "pairs", "median", "min", "max", "ci95_low", "ci95_high", "warning"];
    let mut rows = vec![header(&own)];
    for pairing in pairings {
        let warning = pairing.warnings().into_iter().chain(pairing.refusals()).collect::<Vec<_>>().join("; ");
        for metric in &pairing.metrics {
            let mut measures = vec![("difference_ms", metric.absolute()), ("difference_pct", metric.relative_pct())];
            if pairing.kind == Kind::Scaling && metric.role == Role::Total {
                measures.push(("speedup", metric.speedup()));
            }
            for (measure, values) in measures {
                let Some(Interval { count, median, min, max, low, high }) = summary(&values) else { continue };
                let mut row = identity(pairing);
                row.extend([metric.of, metric.field, metric.role.name(), measure].map(str::to_owned));
                row.push(count.to_string());
                row.extend([median, min, max, low, high].map(|value| format!("{value:.4}")));
                row.push(warning.clone());
                rows.push(row);
            }
        }
        if pairing.sources.is_empty() && !pairing.refused.is_empty() {
            let mut row = identity(pairing);
            row.resize(rows[0].len() - 1, String::new());
            row.push(warning);
            rows.push(row);
        }
    }
    rows
}

/// The short of it for people.
pub(super) fn sentences(pairings: &[Pairing]) -> Vec<String> {
    let mut lines = Vec::new();
    for pairing in pairings {
        lines.push(format!("{} {} {}: {}", pairing.algorithm, pairing.parameters, pairing.dataset, pairing.title()));
        for (_, field) in TOTALS {
            let Some(metric) = pairing.total(field) else { continue };
            let (values, unit) = match pairing.kind {
                Kind::Scaling => (metric.speedup(), "x"),
                _ => (metric.relative_pct(), " %"),
            };
            let Some(short) = summary(&values) else { continue };
            let what = if pairing.kind == Kind::Scaling { "speed-up" } else { "increment" };
            lines.push(format!(
                "  {field:<20} {what} {:.3}{unit} (95 % {:.3} to {:.3}; {:.3} to {:.3} in {} pairs)",
                short.median, short.low, short.high, short.min, short.max, short.count
            ));
        }
        lines.extend(pairing.warnings().iter().map(|warning| format!("  warning: {warning}")));
        lines.extend(pairing.refusals().iter().map(|reason| format!("  REFUSED {reason}")));
    }
    lines
}
