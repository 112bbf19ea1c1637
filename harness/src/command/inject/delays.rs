//! The plot of delays: how many supersteps lie between a strike and its verdict, by target and the tier that gave it.

use super::record::Row;
use crate::drawing::svg::{Anchor, Canvas, Chart, WIDTH};
use framework::fault_injection::Target;
use std::collections::BTreeMap;

/// Colours of tiers 1 and 2.
const COLOURS: [usize; 2] = [2, 5];

/// The delay at a share of strikes, in ascending order.
fn at_share(delays: &BTreeMap<u32, u64>, share: f64) -> u32 {
    let total: u64 = delays.values().sum();
    let place = (share * total as f64).ceil().max(1.0) as u64;
    let mut seen = 0;
    let reached = delays.iter().find(|(_, count)| {
        seen += **count;
        seen >= place
    });
    reached.map_or(0, |(delay, _)| *delay)
}

/// A row for each target and tier: a dot for each delay, as large as its share.
pub(super) fn chart(rows: &[Row]) -> Chart {
    let mut exact: BTreeMap<(&str, &str, u8, u32), u64> = BTreeMap::new();
    for row in rows {
        if let Some(delay) = row.delay_rounds {
            *exact.entry((&row.target, &row.model, row.tier, delay)).or_default() += 1;
        }
    }
    let mut numbers = vec![["target", "model", "tier", "delay_rounds", "strikes"].map(str::to_owned).to_vec()];
    let line = |((target, model, tier, delay), count): (&(&str, &str, u8, u32), &u64)| {
        vec![(*target).to_owned(), (*model).to_owned(), tier.to_string(), delay.to_string(), count.to_string()]
    };
    numbers.extend(exact.iter().map(line));
    // Short delays are not spread over the whole width.
    let worst = exact.keys().map(|key| key.3).max().unwrap_or(0).max(16);

    let mut canvas = Canvas::new();
    canvas.text("ink", 20.0, (24.0, 34.0), Anchor::Start, "How long strikes went unnoticed");
    let found: u64 = exact.values().sum();
    let what = rows.first().map(|row| format!("{} on {}, {} ranks", row.algorithm, row.graph, row.ranks));
    let what = format!("{}: {found} strikes with a verdict, of {}", what.unwrap_or_default(), rows.len());
    canvas.text("faint", 14.0, (24.0, 56.0), Anchor::Start, &what);
    let legend =
        [(COLOURS[0], "found by tier 1, while the run went on"), (COLOURS[1], "by tier 2, the certificate at the end")];
    let mut y = canvas.legend(84.0, &legend.map(|(colour, words)| (colour, words.to_owned()))) + 4.0;
    let (left, right) = (190.0, WIDTH - 300.0);
    let place = |delay: u32| left + f64::from(delay + 1).log2() / f64::from(worst + 1).log2() * (right - left);
    for (x, head) in [(84.0, "strikes"), (148.0, "median"), (194.0, "95 %"), (246.0, "worst")] {
        canvas.text("faint", 13.0, (right + x, y), Anchor::End, head);
    }
    let top = y + 8.0;
    y += 34.0;
    let mut marks = vec![];
    for (target, _) in Target::ALL {
        for tier in [1, 2] {
            let mut delays: BTreeMap<u32, u64> = BTreeMap::new();
            for ((_, _, _, delay), count) in exact.iter().filter(|(key, _)| key.0 == target && key.2 == tier) {
                *delays.entry(*delay).or_default() += count;
            }
            let n: u64 = delays.values().sum();
            if n > 0 {
                marks.push((y, format!("{target}, tier {tier}"), COLOURS[usize::from(tier) - 1], delays, n));
                y += 34.0;
            }
        }
    }
    let bottom = y - 12.0;
    let ticks = std::iter::once(0).chain((0..31).map(|power| 1 << power)).take_while(|&tick| tick <= worst);
    for tick in ticks {
        canvas.line("grid", (place(tick), top), (place(tick), bottom));
        canvas.text("faint", 13.0, (place(tick), bottom + 18.0), Anchor::Middle, &tick.to_string());
    }
    let words = "supersteps from the strike to its verdict (logarithmic)";
    canvas.text("faint", 13.0, ((left + right) / 2.0, bottom + 38.0), Anchor::Middle, words);
    for (y, name, colour, delays, n) in marks {
        canvas.text("ink", 14.0, (left - 24.0, y + 5.0), Anchor::End, &name);
        for (delay, count) in &delays {
            // The area is the share.
            let radius = (16.0 * (*count as f64 / n as f64).sqrt()).max(2.0);
            let words = format!("{count} of {n} after {delay}");
            canvas.dot(&format!("f{colour}"), (place(*delay), y), radius, &words);
        }
        let worst = delays.keys().last().copied().unwrap_or(0);
        let columns = [(n.to_string(), 84.0), (at_share(&delays, 0.5).to_string(), 148.0)];
        let more = [(at_share(&delays, 0.95).to_string(), 194.0), (worst.to_string(), 246.0)];
        for (number, x) in columns.into_iter().chain(more) {
            canvas.text("ink", 13.0, (right + x, y + 5.0), Anchor::End, &number);
        }
    }
    Chart {
        name: "delays",
        title: "How long strikes went unnoticed".into(),
        note: "Supersteps between the strike and the superstep of the first finding; the area of a dot is its share of the row.".into(),
        canvas,
        numbers,
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::row;
    use super::*;

    #[test]
    fn delays_are_counted_by_model_target_and_tier() {
        let mut rows = vec![row("field", "bit1"); 20];
        for (place, row) in rows.iter_mut().enumerate().skip(1) {
            (row.tier, row.delay_rounds) = (1, Some(if place == 19 { 9 } else { 0 }));
        }
        let numbers = chart(&rows).numbers;
        assert_eq!(numbers[1..], [["field", "bit1", "1", "0", "18"], ["field", "bit1", "1", "9", "1"]]);
        let delays = BTreeMap::from([(0, 18), (9, 1)]);
        assert_eq!([0.5, 0.94, 0.95, 1.0].map(|share| at_share(&delays, share)), [0, 0, 9, 9]);
        assert_eq!(at_share(&BTreeMap::new(), 0.5), 0);
        assert_eq!(chart(&[]).numbers.len(), 1);
    }
}
