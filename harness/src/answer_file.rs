//! The answer file: one value a vertex, in ascending original ID, as CSV or binary.

use crate::whole_file;
use framework::answer::{Answer, Values};
use framework::base::error::{Error, Result};
use framework::graph::Graph;
use std::io::{self, Write};
use std::path::Path;

/// First bytes of a binary answer.
pub(crate) const MAGIC: &[u8; 8] = b"GALGANS1";

/// How an answer is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// `vertex,COLUMN` and a row a vertex.
    Csv,
    /// See `docs/schemas.md`.
    Binary,
}

impl Form {
    /// By the file's ending.
    ///
    /// # Errors
    /// When it tells neither.
    pub(crate) fn of(path: &Path) -> Result<Form> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => Ok(Form::Csv),
            Some("bin") => Ok(Form::Binary),
            _ => Err(Error::usage(format!(
                "{}: the ending tells how the answer is written; end it in .csv or .bin",
                path.display()
            ))),
        }
    }
}

/// Checks, before the run, that the file can be made.
///
/// # Errors
/// When its folder is missing or may not be written.
pub(crate) fn check(path: &Path) -> Result<Form> {
    let form = Form::of(path)?;
    if path.is_dir() {
        return Err(Error::usage(format!("{}: is a folder; name a file in it", path.display())));
    }
    whole_file::check(path, whole_file::folder(path))?;
    Ok(form)
}

/// Writes the answer.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write(path: &Path, form: Form, graph: &Graph, answer: &Answer) -> Result<()> {
    whole_file::write(path, |out| match form {
        Form::Csv => csv(out, graph, answer),
        Form::Binary => binary(out, graph, answer),
    })
}

fn csv(out: &mut impl Write, graph: &Graph, answer: &Answer) -> io::Result<()> {
    writeln!(out, "vertex,{}", answer.column)?;
    let ids = graph.ids().iter();
    match &answer.values {
        Values::Count(values) => {
            for (id, value) in ids.zip(values) {
                match value {
                    &u32::MAX => writeln!(out, "{id},-1")?,
                    value => writeln!(out, "{id},{value}")?,
                }
            }
        }
        Values::Vertex(values) => ids.zip(values).try_for_each(|(id, value)| writeln!(out, "{id},{value}"))?,
        Values::Flag(values) => ids.zip(values).try_for_each(|(id, value)| writeln!(out, "{id},{value}"))?,
        // Rust prints the shortest text that reads back to the same number.
        Values::Real(values) => ids.zip(values).try_for_each(|(id, value)| writeln!(out, "{id},{value:?}"))?,
    }
    Ok(())
}

fn binary(out: &mut impl Write, graph: &Graph, answer: &Answer) -> io::Result<()> {
    let kind: u32 = match &answer.values {
        Values::Count(_) => 0,
        Values::Vertex(_) => 1,
        Values::Flag(_) => 2,
        Values::Real(_) => 3,
    };
    out.write_all(MAGIC)?;
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&0u32.to_le_bytes())?;
    out.write_all(&(graph.vertices() as u64).to_le_bytes())?;
    graph.ids().iter().try_for_each(|id| out.write_all(&id.to_le_bytes()))?;
    match &answer.values {
        Values::Count(values) => values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes())),
        Values::Vertex(values) => values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes())),
        Values::Flag(values) => out.write_all(values),
        Values::Real(values) => values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes())),
    }
}
