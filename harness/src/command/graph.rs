//! `harness graph`: convert, generate and describe graphs.

use crate::dataset;
use crate::options::Reading;
use crate::people::say;
use crate::stdout::print;
use clap::{Args, Subcommand, ValueHint, value_parser};
use framework::base::error::{Error, Result};
use framework::base::format::{bytes, counted, grouped};
use framework::graph::{
    Conversion, Converted, Generator, Info, Input, Order, Recipe, View, convert, info, load, verify, write_graph,
};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// What can be done with graphs.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum GraphCommand {
    /// Write a graph in another format, by the ending of OUT
    Convert(Convert),
    /// Make a synthetic graph; one seed gives one graph on every machine
    Generate(Generate),
    /// Describe a graph
    Info(Describe),
}

/// Options of `graph convert`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Convert {
    /// The graph; - reads standard input
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    input: PathBuf,
    /// The file: .gcsr, .txt, .el or .mtx, the texts also with .gz
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// Most memory to use, as 800M or 4G; a larger edge list is sorted on disk beside OUT
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
    /// Number the vertices of a .gcsr file for caches; answers stay those of the original IDs
    #[arg(long, value_name = "ORDER", value_enum)]
    reorder: Option<Order>,
}

/// Options of `graph generate`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Generate {
    /// The kind of graph
    #[arg(value_enum)]
    family: Generator,
    /// Binary logarithm of the number of vertices
    #[arg(long, value_name = "S", value_parser = value_parser!(u32).range(..=31))]
    scale: u32,
    /// How many edges are drawn for each vertex [default: 16; 1 for a grid]
    #[arg(long, value_name = "E", value_parser = value_parser!(u32).range(1..))]
    edge_factor: Option<u32>,
    /// The seed; the same seed makes the same graph on every machine
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The file: .gcsr, .txt, .el or .mtx, the texts also with .gz
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: PathBuf,
}

/// Options of `graph info`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Describe {
    /// The graph; - reads standard input, a name without a file the embedded data set
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    input: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// Print the description as one JSON object
    #[arg(long)]
    json: bool,
    /// Say that every block of a .gcsr file matches its checksum; another file is refused
    #[arg(long, conflicts_with = "trust_file")]
    verify: bool,
}

/// The embedded data set by its name, unless a file has it; else a file.
fn input(path: &Path) -> Result<Input> {
    if path == Path::new(dataset::EMBEDDED) && !path.exists() {
        return dataset::find(dataset::EMBEDDED, None);
    }
    Ok(Input::Path(path.to_path_buf()))
}

/// A number of bytes with an optional unit of 1024: K, M, G or T.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no size; give a number with an optional K, M, G or T, as 800M");
    let upper = text.to_uppercase();
    let digits = upper.trim_end_matches('B').trim_end_matches('I');
    let (digits, shift) = match digits.chars().last() {
        Some('K') => (&digits[..digits.len() - 1], 10),
        Some('M') => (&digits[..digits.len() - 1], 20),
        Some('G') => (&digits[..digits.len() - 1], 30),
        Some('T') => (&digits[..digits.len() - 1], 40),
        _ => (digits, 0),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).filter(|&bytes| bytes > 0).ok_or_else(wrong)
}

fn say_written(output: &Path, converted: &Converted, began: Instant) {
    converted.warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
    converted.notes.iter().for_each(|note| say(&format!("note     {note}")));
    let length = std::fs::metadata(output).map_or(0, |file| file.len());
    say(&format!(
        "wrote {}: {}, {}, {} in {:.1} s",
        output.display(),
        counted(converted.vertices, "vertex").replace("vertexs", "vertices"),
        counted(converted.arcs, "arc"),
        bytes(length),
        began.elapsed().as_secs_f64()
    ));
}

impl GraphCommand {
    /// Runs it.
    ///
    /// # Errors
    /// Whatever it reports.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let began = Instant::now();
        match self {
            GraphCommand::Convert(options) => {
                let read = options.reading.options(View::AsGiven { incoming: true });
                let how = Conversion { memory: options.memory, reorder: options.reorder };
                let converted = convert(&input(&options.input)?, &read, &options.output, how)?;
                say_written(&options.output, &converted, began);
            }
            GraphCommand::Generate(options) => {
                let recipe = Recipe {
                    generator: options.family,
                    scale: options.scale,
                    edge_factor: options.edge_factor.unwrap_or_else(|| options.family.default_edge_factor()),
                    seed: options.seed,
                };
                let graph = recipe.graph(View::AsGiven { incoming: false })?;
                say_written(&options.output, &write_graph(&graph, &options.output)?, began);
            }
            GraphCommand::Info(options) => options.run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Describe {
    fn run(&self) -> Result<()> {
        if self.verify {
            verify(&self.input)?;
        }
        let graph = load(&input(&self.input)?, &self.reading.options(View::AsGiven { incoming: true }))?;
        graph.notes().iter().for_each(|note| say(&format!("note     {note}")));
        let info = info(&graph);
        let text = if self.json {
            serde_json::to_string_pretty(&info).map_err(|error| Error::Environment(error.to_string()))? + "\n"
        } else {
            text(&info, self.verify)
        };
        print(text.as_bytes())
    }
}

fn text(info: &Info, is_verified: bool) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<14} {value}");
    };
    row("graph", format!("{}, {}", info.name, if info.directed { "directed" } else { "undirected" }));
    row("vertices", grouped(info.vertices));
    row(
        "arcs",
        format!("{} ({} listed, {} again)", grouped(info.arcs), grouped(info.listed), grouped(info.duplicate_arcs)),
    );
    row("self-loops", grouped(info.self_loops));
    if let (Some(first), Some(last)) = (info.id_min, info.id_max) {
        row("IDs", format!("{first} to {last}{}", if info.ids_contiguous { ", without gaps" } else { "" }));
    }
    if info.reordered {
        row("order", "not that of the IDs: the graph was reordered".into());
    }
    row("out-degree", format!("{} to {}, mean {:.2}", info.degree_min, grouped(info.degree_max), info.degree_mean));
    if let Some(isolated) = info.isolated {
        row("isolated", grouped(isolated));
    }
    let held = &info.bytes;
    let rows = held.offsets + held.targets;
    let other = held.incoming_offsets + held.incoming_targets;
    let place = if held.mapped { "mapped" } else { "in memory" };
    row("held", format!("rows {}, transpose {}, IDs {}; {place}", bytes(rows), bytes(other), bytes(held.ids)));
    if is_verified {
        row("verified", "every block matches its checksum".into());
    }
    for warning in &info.warnings {
        row("warning", warning.clone());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_1024() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(size(text).ok(), expected, "{text}");
        check("800M", Some(800 << 20));
        check("4GiB", Some(4 << 30));
        check("4gb", Some(4 << 30));
        check("123", Some(123));
        for wrong in ["", "0", "M", "-1", "1.5G", "99999999999T", "ü"] {
            check(wrong, None);
        }
    }
}
