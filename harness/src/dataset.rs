//! Data sets by name: the one inside the program, and files of a folder.

use framework::base::error::{Error, Result};
use framework::graph::Input;
use std::fs;
use std::path::Path;

/// The data set a run takes when none is named: citations among 34,546 papers of high-energy physics phenomenology.
pub(crate) const EMBEDDED: &str = "cit-HepPh";

/// The data set of that name: the embedded one, or the one file in `folder` whose name without endings it is.
///
/// # Errors
/// When there is none, or more than one.
pub(crate) fn find(name: &str, folder: Option<&Path>) -> Result<Input> {
    let mut known = vec![EMBEDDED.to_owned()];
    if let Some(folder) = folder {
        let read = |source| Error::Read { path: folder.into(), source };
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).map_err(read)? {
            let path = entry.map_err(read)?.path();
            let input = Input::Path(path.clone());
            if input.graph_name() == name {
                files.push(path);
            } else if path.is_file() {
                known.push(input.graph_name());
            }
        }
        files.sort();
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
