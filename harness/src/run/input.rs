//! The graph of a run, as the algorithm wants to see it.

use crate::dataset;
use crate::options::RunArgs;
use crate::people::say;
use crate::progress::LoadBar;
use framework::algorithm::GraphAlgorithm;
use framework::base::error::{Error, Result};
use framework::graph::{Graph, Input, LoadOptions, View, load_observed};

/// Reads the graph in the view that the algorithm asks for.
///
/// # Errors
/// When it cannot be read, or an option has no effect.
pub(crate) fn load(options: &RunArgs, algorithm: &dyn GraphAlgorithm, name: &str, shows_bar: bool) -> Result<Graph> {
    let uses_both = matches!(algorithm.view(), View::Symmetric | View::Simple);
    if options.reading.directed && uses_both {
        return Err(Error::usage(format!(
            "--directed has no effect on {name}, which uses both directions; leave it out"
        )));
    }
    let (input, load_options) = input(options, algorithm)?;
    let bar = LoadBar::new(shows_bar);
    let tell = |stage, done, total| {
        if let Some(bar) = &bar {
            bar.tell(stage, done, total);
        }
    };
    let observer: Option<&(dyn Fn(_, _, _) + Sync)> = if shows_bar { Some(&tell) } else { None };
    let graph = load_observed(&input, &load_options, observer)?;
    drop(bar);
    graph.warnings().iter().for_each(|warning| say(&format!("warning: {warning}")));
    graph.notes().iter().for_each(|note| say(&format!("note     {note}")));
    Ok(graph)
}

/// What is read, and how.
fn input(options: &RunArgs, algorithm: &dyn GraphAlgorithm) -> Result<(Input, LoadOptions)> {
    let input = match (&options.graph, &options.dataset) {
        (Some(path), _) => Input::Path(path.clone()),
        (None, name) => dataset::find(name.as_deref().unwrap_or(dataset::EMBEDDED), options.dataset_dir.as_deref())?,
    };
    Ok((input, options.reading.options(algorithm.view())))
}

/// Reads the same graph as [`load`] again, after it was damaged in memory.
///
/// # Errors
/// When the data set is not known.
pub(crate) fn reader(
    options: &RunArgs,
    algorithm: &dyn GraphAlgorithm,
) -> Result<impl Fn() -> Result<Graph> + Send + Sync + use<>> {
    let (input, load_options) = input(options, algorithm)?;
    Ok(move || {
        match &input {
        Input::Path(path) if path.as_os_str() == "-" => Err(Error::Answer(
            "the graph in memory is damaged, and standard input cannot be read again; run again, from a file if it repeats".into(),
        )),
        input => load_observed(input, &load_options, None),
    }
    })
}
