//! Files that are there whole or not at all: written beside their place under another name and moved there when complete.

use framework::error::{Error, Result};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Checks that a file can be made in this folder.
///
/// # Errors
/// When it cannot; the error names `path`.
pub(crate) fn check(path: &Path, folder: &Path) -> Result<()> {
    let failed = |source| Error::Write { path: path.into(), source };
    tempfile::NamedTempFile::new_in(folder).and_then(tempfile::NamedTempFile::close).map_err(failed)
}

/// Puts what `fill` writes into the file `path`, replacing one that is there.
///
/// # Errors
/// When it cannot be written; then what was there stays.
pub(crate) fn write(path: &Path, fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<()> {
    let failed = |source| Error::Write { path: path.into(), source };
    let file = tempfile::NamedTempFile::new_in(folder(path)).map_err(failed)?;
    let mut out = BufWriter::with_capacity(1 << 20, file.as_file());
    fill(&mut out).and_then(|()| out.flush()).map_err(failed)?;
    drop(out);
    file.as_file().sync_all().map_err(failed)?;
    let file = file.persist(path).map_err(|error| failed(error.error))?;
    readable(&file).map_err(failed)
}

/// The folder a file stands in.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Temporary files are private; these are as readable as any file.
fn readable(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    Ok(())
}
