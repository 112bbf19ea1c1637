//! Files that are there whole or not at all, and their hashes.

use framework::error::{Error, Result};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hash of bytes.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes))
}

/// The hash and length of a file.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn sha256_of(path: &Path) -> Result<(String, u64)> {
    let read = |source| Error::Read { path: path.into(), source };
    let mut sha = Sha256::new();
    let (mut file, mut bytes, mut block) = (File::open(path).map_err(read)?, 0, vec![0; 1 << 20]);
    loop {
        match file.read(&mut block).map_err(read)? {
            0 => return Ok((hex(sha.finalize()), bytes)),
            length => {
                sha.update(&block[..length]);
                bytes += length as u64;
            }
        }
    }
}

/// Writes a file that must not be there yet: a temporary name, fsync, rename, fsync of the folder.
///
/// # Errors
/// When the disk refuses, or the file is there.
pub(crate) fn write_new(path: &Path, content: &[u8]) -> Result<()> {
    let temporary = temporary(path, content)?;
    temporary.persist_noclobber(path).map_err(|error| Error::Write { path: path.into(), source: error.error })?;
    sync_folder(path)
}

/// Writes a file that may replace one, whole or not at all.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let temporary = temporary(path, content)?;
    temporary.persist(path).map_err(|error| Error::Write { path: path.into(), source: error.error })?;
    sync_folder(path)
}

fn temporary(path: &Path, content: &[u8]) -> Result<tempfile::NamedTempFile> {
    let write = |source| Error::Write { path: path.into(), source };
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".unfinished-").tempfile_in(folder).map_err(write)?;
    file.write_all(content).and_then(|()| file.as_file().sync_all()).map_err(write)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644)).map_err(write)?;
    }
    Ok(file)
}

fn sync_folder(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|source| Error::Write { path: path.into(), source })
}

/// Makes a folder and those above it.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|source| Error::Write { path: path.into(), source })
}

/// Takes away what a killed runner left of files it was writing.
pub(crate) fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(".unfinished-")) {
        let _ = fs::remove_file(entry.path()); // what stays is never read
    }
}
