//! Files that are there whole or not at all, and their hashes.

use crate::whole_file;
use framework::base::error::{Error, Result};
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
    whole_file::write_new(path, |out| out.write_all(content))
}

/// Writes a file that may replace one, whole or not at all.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<()> {
    whole_file::write(path, |out| out.write_all(content))
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
    for entry in
        entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(whole_file::UNFINISHED))
    {
        let _ = fs::remove_file(entry.path()); // what stays is never read
    }
}
