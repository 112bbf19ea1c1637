//! The frame of an HTML report: one file that opens without a network, in light and dark.

use super::svg::{Theme, escaped};
use std::fmt::Write;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:1240px;margin:2em auto;padding:0 20px}\
table{border-collapse:collapse;font-size:14px;margin:1em 0}td,th{padding:3px 12px 3px 0;text-align:left;border-bottom:1px solid #8886;\
vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums}figure{margin:2em 0;overflow-x:auto}svg{max-width:100%;height:auto}\
.warn{border:2px solid #d55e00;padding:8px 14px}code{font-size:13px;word-break:break-all}details{margin:.5em 0}\
.scroll{max-height:420px;overflow:auto}";

/// The page's beginning, with its title as heading.
pub(crate) fn head(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title><style>{STYLE}\
         body{{background:#fff;color:#1a1a1a}}{}@media (prefers-color-scheme:dark){{body{{background:#16181d;color:#ececec}}{}}}\
         </style></head><body>\n<h1>{title}</h1>\n",
        Theme::Light.css(),
        Theme::Dark.css(),
        title = escaped(title)
    )
}

/// The page's end.
pub(crate) const FOOT: &str = "</body></html>";

/// A table; the first row is its head.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
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
