//! The report: one HTML file that opens without a network and names the attempt behind every number.

use super::super::analyze::Pairing;
use super::super::collect::Collected;
use super::svg::{Chart, Theme, escaped};
use std::fmt::Write;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:1240px;margin:2em auto;padding:0 20px}\
table{border-collapse:collapse;font-size:14px;margin:1em 0}td,th{padding:3px 12px 3px 0;text-align:left;border-bottom:1px solid #8886;\
vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums}figure{margin:2em 0;overflow-x:auto}svg{max-width:100%;height:auto}\
.warn{border:2px solid #d55e00;padding:8px 14px}code{font-size:13px;word-break:break-all}details{margin:.5em 0}\
.scroll{max-height:420px;overflow:auto}";

/// The page.
pub(crate) fn html(collected: &Collected, pairings: &[Pairing], summary: &[Vec<String>], charts: &[Chart]) -> String {
    let manifest = &collected.manifest;
    let mut page = String::new();
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title><style>{STYLE}\
         body{{background:#fff;color:#1a1a1a}}{}@media (prefers-color-scheme:dark){{body{{background:#16181d;color:#ececec}}{}}}\
         </style></head><body>\n<h1>{title}</h1>\n",
        Theme::Light.css(),
        Theme::Dark.css(),
        title = escaped(&manifest.name)
    );
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
    let _ = writeln!(
        page,
        "<h2>Attempts</h2>\n<p>Each is raw/&lt;attempt&gt;.json in the run folder.</p>{}</body></html>",
        table(&rows)
    );
    page
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

fn table(rows: &[Vec<String>]) -> String {
    let mut text = "<div class=\"scroll\"><table>".to_owned();
    for (place, row) in rows.iter().enumerate() {
        text += "<tr>";
        for value in row {
            let _ = match (place, value.parse::<f64>().is_ok()) {
                (0, _) => write!(text, "<th>{}</th>", escaped(value)),
                (_, true) => write!(text, "<td class=\"n\">{}</td>", escaped(value)),
                (_, false) => write!(text, "<td>{}</td>", escaped(value)),
            };
        }
        text += "</tr>";
    }
    text + "</table></div>"
}
