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
        let refused: String = pairings
            .iter()
            .flat_map(|pairing| pairing.refused.iter().map(move |reason| (pairing, reason)))
            .map(|(pairing, reason)| {
                format!("<li>{} {}: {}</li>", escaped(&pairing.title()), escaped(&pairing.dataset), escaped(reason))
            })
            .collect();
        if !refused.is_empty() {
            let _ = writeln!(page, "<div class=\"warn\">Pairs that may not be compared:<ul>{refused}</ul></div>");
        }
        let _ =
            writeln!(page, "<h2>Pairs</h2>\n<details open><summary>summary.csv</summary>{}</details>", table(summary));
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
