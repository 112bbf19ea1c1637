//! The answer file: one value a vertex, in ascending original ID, as CSV or binary.

use crate::whole_file;
use framework::answer::{Answer, Values};
use framework::base::error::{Error, Result};
use framework::graph::Graph;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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

/// Checks, before the graph is read, that the file can be written and that nothing is lost by it. Nothing is written yet: a file that is there stays as it
/// is until an answer replaces it.
///
/// # Errors
/// A usage error when it is no file or the graph itself; an environment error when it or its folder may not be written, or the folder is missing.
pub(crate) fn check(path: &Path, graph: Option<&Path>) -> Result<Form> {
    let form = Form::of(path)?;
    let failed = |source| Error::Write { path: path.into(), source };
    match fs::metadata(path) {
        Ok(facts) if facts.is_dir() => {
            return Err(Error::usage(format!("{}: is a folder; name a file in it", path.display())));
        }
        Ok(facts) if !facts.is_file() => {
            return Err(Error::usage(format!("{}: is no regular file; name another one", path.display())));
        }
        Ok(_) => {
            let is_graph = |graph: &Path| fs::canonicalize(path).ok() == fs::canonicalize(graph).ok();
            if graph.is_some_and(is_graph) {
                return Err(Error::usage(format!(
                    "--output {}: is the graph, which the answer would replace; name another file",
                    path.display()
                )));
            }
            fs::OpenOptions::new().write(true).open(path).map_err(failed)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(failed(source)),
    }
    let target = target(path);
    whole_file::check(path, whole_file::folder(&target))?;
    Ok(form)
}

/// The file itself where the path is a link to one: the link stays.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.into())
}

/// Writes the answer.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write(path: &Path, form: Form, graph: &Graph, answer: &Answer) -> Result<()> {
    whole_file::write(&target(path), |out| match form {
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
