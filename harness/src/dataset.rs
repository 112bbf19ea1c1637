//! Data sets by name: the one inside the program, and files of a folder.

use framework::base::error::{Error, Result};
use framework::graph::Input;
use std::fs;
use std::path::{Path, PathBuf};

/// The data set a run takes when none is named: citations among 34,546 papers of high-energy physics phenomenology.
pub(crate) const EMBEDDED: &str = "cit-HepPh";

/// The files of a folder that can be data sets: name and path, sorted.
///
/// # Errors
/// When the folder cannot be read.
pub(crate) fn in_folder(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let read = |source| Error::Read { path: folder.into(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(read)? {
        let path = entry.map_err(read)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_file() && !is_hidden {
            found.push((Input::Path(path.clone()).graph_name(), path));
        }
    }
    found.sort();
    Ok(found)
}

/// The data set of that name: the embedded one, or the one file in `folder` whose name without endings it is.
///
/// # Errors
/// When there is none, or more than one.
pub(crate) fn find(name: &str, folder: Option<&Path>) -> Result<Input> {
    let mut known = vec![EMBEDDED.to_owned()];
    if let Some(folder) = folder {
        let all = in_folder(folder)?;
        let files: Vec<PathBuf> = all.iter().filter(|(own, _)| own == name).map(|(_, path)| path.clone()).collect();
        known.extend(all.into_iter().map(|(own, _)| own));
        match files.as_slice() {
            [] => {}
            [file] => return Ok(Input::Path(file.clone())),
            [first, second, ..] => {
                return Err(Error::usage(format!(
                    "`{name}` is both {} and {}; name the file with --graph",
                    first.display(),
                    second.display()
                )));
            }
        }
    }
    if name == EMBEDDED {
        return Ok(Input::Embedded {
            name: EMBEDDED,
            bytes: include_bytes!("../data/cit-HepPh.txt.gz"),
            file_name: "cit-HepPh.txt.gz",
        });
    }
    known.sort();
    known.dedup();
    Err(Error::usage(format!(
        "no data set is called `{name}` (known: {}); --dataset-dir names a folder of more, --graph a file",
        known.join(", ")
    )))
}
