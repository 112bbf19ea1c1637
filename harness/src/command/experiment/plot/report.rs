//! The report: one HTML file that opens without a network and names the attempt behind every number.

use super::super::analyze::Pairing;
use super::super::collect::Collected;
use crate::drawing::page::{self, table};
use crate::drawing::svg::{Chart, escaped};
use std::fmt::Write;

/// The page.
pub(crate) fn html(collected: &Collected, pairings: &[Pairing], summary: &[Vec<String>], charts: &[Chart]) -> String {
    let manifest = &collected.manifest;
    let mut page = page::head(&manifest.name);
    if !manifest.is_evidence {
        page += "<p class=\"warn\">No evidence: measured with a debug build or from a dirty tree.</p>\n";
    }
    let measured = collected.measured().count();
    let _ = writeln!(
        page,
        "<p>{measured} of {} planned calls have a sound measurement; {} attempts are on file.</p>",
        manifest.planned_calls,
        collected.judged.len()
    );
    if !collected.problems.is_empty() {
        let list: String = collected.problems.iter().map(|problem| format!("<li>{}</li>", escaped(problem))).collect();
        let _ = writeln!(page, "<div class=\"warn\">Missing:<ul>{list}</ul></div>");
    }
    page += READING;
    for chart in charts {
        let _ = writeln!(
            page,
            "<h2>{}</h2>\n<figure>{}<figcaption>{}</figcaption></figure>\n<details><summary>Numbers ({}.csv)</summary>{}</details>",
            escaped(&chart.title),
            chart.canvas.inline(),
            escaped(&chart.note),
            chart.name,
            table(&chart.numbers)
        );
    }
    if !pairings.is_empty() {
        let _ = writeln!(page, "<h2>Pairs</h2>\n{}{}", warnings(pairings), PAIRS_READ);
        let _ = writeln!(page, "<details open><summary>summary.csv</summary>{}</details>", table(summary));
    }
    let _ = writeln!(page, "<h2>What was measured, by what, where</h2>\n{}", facts(collected));
    let mut rows = vec![
        ["attempt", "item", "phase", "repeat", "method", "wall ms", "status", "reasons"].map(str::to_owned).to_vec(),
    ];
    for judged in &collected.judged {
        let mut row = vec![judged.id.to_string()];
        match &judged.attempt {
            Some(attempt) => row.extend([
                attempt.item.to_string(),
                attempt.phase.name().to_owned(),
                attempt.repeat.to_string(),
                attempt.method.clone(),
                format!("{:.4}", attempt.process_wall_ms),
            ]),
            None => row.extend(vec![String::new(); 5]),
        }
        row.extend([judged.standing.name().to_owned(), judged.reasons.join("; ")]);
        rows.push(row);
    }
    let _ =
        writeln!(page, "<h2>Attempts</h2>\n<p>Each is raw/&lt;attempt&gt;.json in the run folder.</p>{}", table(&rows));
    page + page::FOOT
}

/// What is said beside pairs, each pair by its names.
fn warnings(pairings: &[Pairing]) -> String {
    let mut list = String::new();
    for pairing in pairings {
        for line in pairing.warnings().into_iter().chain(pairing.refusals()) {
            let (what, on) = (escaped(&pairing.title()), escaped(&pairing.dataset));
            let (algorithm, line) = (escaped(&format!("{} {}", pairing.algorithm, pairing.parameters)), escaped(&line));
            let _ = write!(list, "<li>{what}, {algorithm} on {on}: {line}</li>");
        }
    }
    if list.is_empty() { list } else { format!("<div class=\"warn\">Warnings about pairs:<ul>{list}</ul></div>\n") }
}

/// How the table of pairs is read.
const PAIRS_READ: &str = "<p>Each pair is explained by the rows of the rank that took longest. In one repeat (analysis/pairs.csv) the rows of the \
roles <code>explains</code>, <code>change</code> and <code>unexplained</code> add up to the increment of the total named in column <code>of</code>; medians over \
repeats do not add up. A <code>change</code> differs between the two methods, but is no cost of fault tolerance.</p>\n";

/// How the page is read: what near 0 % and near 100 % mean for each share, and what may be added up.
const READING: &str = "<h2>How to read this page</h2>
<ul>
<li><b>Where the time goes.</b> The pieces of a bar are means over ranks and repeats. They do not overlap, so they add up to the bar. A piece near 0 % of \
its bar is no place to look for speed; one near 100 % is nearly all of the run. A stage that a method does not have is 0.</li>
<li><b>Maxima.</b> The maximum over ranks of one stage and that of another may come from different ranks, so maxima may not be added up. How long the \
slowest rank took is <code>rank_algorithm_total_max_ms</code> itself (with set-up and result: <code>rank_algorithm_e2e_max_ms</code>).</li>
<li><b>Time against the baseline.</b> Near 0 %: the variant costs nothing that can be seen; +100 %: it takes twice as long; below 0 %: it is faster. An \
interval that holds 0 % says that the repeats do not tell the two apart. Percentages of different pairs may not be added up.</li>
<li><b>Speed-up.</b> 1 is no gain, the number of ranks is the best that dividing the work can give; below 1 the ranks cost more than they bring.</li>
<li><b>Idle vertices.</b> Near 0 %: every vertex is at work in that superstep, and nothing is left for redundant work; near 100 %: almost all of them wait. Shares of \
ranks may not be averaged: sum the counts over ranks by iteration, then divide.</li>
<li><b>Covered critical vertices</b> (<code>covered_critical_pct</code>). Near 0 %: hardly any critical update was repeated and compared; near 100 %: all were. Empty: \
no vertex was critical.</li>
<li><b>Detection latency.</b> How late a verdict comes, beside the loop. Latencies overlap, so their sum is no time of the run.</li>
<li><b>Zeros.</b> In performance runs <code>d2h_summary_ms</code>, <code>cpu_validation_ms</code> and <code>checker_end_to_end_ms</code> are 0: not collected, which is not \
the same as no time.</li>
</ul>
";

fn facts(collected: &Collected) -> String {
    let manifest = &collected.manifest;
    let (build, host) = (&manifest.build, &manifest.host);
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".into());
    let mut rows = vec![
        ("graphalg", build.product_version.clone()),
        (
            "commit",
            format!("{}{}", text(&build.git_commit), if build.git_dirty == Some(true) { " (dirty)" } else { "" }),
        ),
        ("source SHA-256", text(&build.source_sha256)),
        ("binary", format!("{}, {}, SHA-256 {}", manifest.binary.name, build.build_profile, manifest.binary.sha256)),
        ("plan SHA-256", manifest.plan_sha256.clone()),
        ("frozen", manifest.created_utc.clone()),
        (
            "host",
            format!(
                "{}, {}, {} cores, {} bytes, Linux {}",
                host.hostname, host.cpu, host.cores, host.memory_bytes, host.kernel
            ),
        ),
        ("MPI", text(&host.mpi)),
        ("CUDA driver", text(&host.cuda_driver)),
        ("GPUs", if host.gpus.is_empty() { "none".into() } else { host.gpus.join("; ") }),
    ];
    let environment: Vec<_> = manifest.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
    rows.push(("environment", environment.join(" ")));
    let mut page = "<table>".to_owned();
    for (name, value) in rows {
        let _ = write!(page, "<tr><th>{name}</th><td><code>{}</code></td></tr>", escaped(&value));
    }
    for dataset in &manifest.datasets {
        let _ = write!(
            page,
            "<tr><th>data set {}</th><td><code>{} bytes, SHA-256 {}</code></td></tr>",
            escaped(&dataset.name),
            dataset.bytes,
            dataset.sha256
        );
    }
    page + "</table>"
}
