//! The ratios as an SVG: one bar a peer and case, on a logarithmic axis, with a line where both are equally fast.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use super::table::{Ratio, Results};

const ROW: f64 = 18.0;
const LEFT: f64 = 330.0;
const WIDTH: f64 = 520.0;
const TOP: f64 = 64.0;
/// The axis: ratios outside are drawn at its ends, with their number.
const AXIS: (f64, f64) = (0.01, 4.0);
const TICKS: [f64; 8] = [0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 2.0, 4.0];
/// Peers by colour, in the order of appearance (Okabe and Ito's palette, readable for the colour-blind).
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// Writes the chart; nothing when there is no ratio.
pub(crate) fn write(results: &Results, path: &Path) -> Result<()> {
    let ratios = results.ratios();
    let rows: Vec<(&Ratio, (f64, f64, f64))> = ratios.iter().filter_map(|row| Some((row, row.ratio?))).collect();
    if rows.is_empty() {
        return Ok(());
    }
    std::fs::write(path, draw(&results.heading(), &rows)).with_context(|| path.display().to_string())
}

fn x(ratio: f64) -> f64 {
    let share = (ratio.clamp(AXIS.0, AXIS.1) / AXIS.0).ln() / (AXIS.1 / AXIS.0).ln();
    LEFT + share * WIDTH
}

fn draw(heading: &str, rows: &[(&Ratio, (f64, f64, f64))]) -> String {
    let bottom = TOP + ROW * rows.len() as f64;
    let (width, height) = (LEFT + WIDTH + 70.0, bottom + 16.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"8\" y=\"18\" font-size=\"14\">Time of ours / time of the peer (shorter is better; 1 = equal)</text>\n\
         <text x=\"8\" y=\"34\" fill=\"#555\">{}</text>\n",
        escape(heading)
    );
    for tick in TICKS {
        let (at, weight) = (x(tick), if tick == 1.0 { 2.0 } else { 0.5 });
        let _ = writeln!(
            svg,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom}\" stroke=\"#999\" stroke-width=\"{weight}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{tick}</text>",
            TOP - 6.0
        );
    }
    let mut peers: Vec<&str> = Vec::new();
    for (at, (row, (middle, least, largest))) in rows.iter().enumerate() {
        let colour = peers.iter().position(|&peer| peer == row.peer).unwrap_or_else(|| {
            peers.push(&row.peer);
            peers.len() - 1
        });
        let (graph, algorithm, threads) = &row.case;
        let y = TOP + ROW * at as f64;
        let label = format!("{graph}, {}, {threads} thr., {}", algorithm.name(), row.peer);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>\
             <line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{mid:.1}\" y2=\"{mid:.1}\" stroke=\"#222\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{middle:.2}</text>",
            LEFT - 6.0,
            y + 13.0,
            escape(&label),
            y + 3.0,
            x(*middle) - LEFT,
            ROW - 6.0,
            COLOURS[colour % COLOURS.len()],
            x(*least),
            x(*largest),
            x(largest.max(*middle)) + 5.0,
            y + 13.0,
            mid = y + ROW / 2.0,
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
