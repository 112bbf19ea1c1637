//! Files that are there whole or not at all: written beside their place under another name and moved there when complete.

use framework::base::error::{Error, Result};
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
    let file = filled(path, fill).map_err(failed)?.persist(path).map_err(|error| failed(error.error))?;
    settled(path, &file).map_err(failed)
}

/// Puts what `fill` writes into the file `path`, which must not be there yet.
///
/// # Errors
/// When it cannot be written, or is there.
pub(crate) fn write_new(path: &Path, fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<()> {
    let failed = |source| Error::Write { path: path.into(), source };
    let file = filled(path, fill).map_err(failed)?.persist_noclobber(path).map_err(|error| failed(error.error))?;
    settled(path, &file).map_err(failed)
}

/// What the names of unfinished files begin with.
pub(crate) const UNFINISHED: &str = ".unfinished-";

fn filled(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<tempfile::NamedTempFile> {
    let file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder(path))?;
    let mut out = BufWriter::with_capacity(1 << 20, file.as_file());
    fill(&mut out).and_then(|()| out.flush())?;
    drop(out);
    file.as_file().sync_all()?;
    Ok(file)
}

/// Makes the new name last, too.
fn settled(path: &Path, file: &File) -> io::Result<()> {
    readable(file)?;
    File::open(folder(path))?.sync_all()
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
