//! Compiled kernels on disk: a file for each key, its content preceded by its SHA-256. Written whole under another name and then
//! renamed, so ranks and processes may share a folder; what does not match its hash counts as absent.

use sha2::{Digest, Sha256};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

const HASH: usize = 32;

/// A folder of compiled kernels, or none.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// `GRAPHALG_CACHE_DIR`, else `graphalg` under `XDG_CACHE_HOME` or `~/.cache`.
    pub(super) fn of_user() -> Cache {
        let named = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = named("GRAPHALG_CACHE_DIR")
            .or_else(|| named("XDG_CACHE_HOME").map(|cache| cache.join("graphalg")))
            .or_else(|| named("HOME").map(|home| home.join(".cache/graphalg")));
        Cache { folder: folder.map(|folder| folder.join("kernels")) }
    }

    #[cfg(test)]
    pub(super) fn at(folder: PathBuf) -> Cache {
        Cache { folder: Some(folder) }
    }

    fn file(&self, key: &str) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(format!("{key}.cubin")))
    }

    /// What was kept under the key, if it is still what was written.
    pub(super) fn get(&self, key: &str) -> Option<Vec<u8>> {
        let content = fs::read(self.file(key)?).ok()?;
        let (hash, image) = content.split_at_checked(HASH)?;
        (hash == Sha256::digest(image).as_slice()).then(|| image.to_vec())
    }

    /// Keeps an image; where it cannot, says so in words for people.
    pub(super) fn put(&self, key: &str, image: &[u8]) -> Result<(), String> {
        let Some((file, folder)) = self.file(key).zip(self.folder.as_ref()) else { return Ok(()) };
        let write = || -> std::io::Result<()> {
            fs::create_dir_all(folder)?;
            let mut whole = tempfile::NamedTempFile::new_in(folder)?;
            whole.write_all(&Sha256::digest(image))?;
            whole.write_all(image)?;
            whole.persist(&file).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|error| {
            format!(
                "compiled kernels cannot be kept in {} ({error}), so each run compiles them; set GRAPHALG_CACHE_DIR to a folder \
                 that can be written",
                folder.display()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_garbage_does_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path().join("new"));
        assert_eq!(cache.get("key"), None);
        cache.put("key", b"image").expect("written");
        assert_eq!(cache.get("key").as_deref(), Some(b"image".as_slice()));
        let file = cache.file("key").expect("a folder");
        for garbage in [b"".as_slice(), b"short", &[7; 64]] {
            fs::write(&file, garbage).expect("written");
            assert_eq!(cache.get("key"), None, "{} bytes", garbage.len());
        }
        cache.put("key", b"again").expect("written over garbage");
        assert_eq!(cache.get("key").as_deref(), Some(b"again".as_slice()));
    }

    #[test]
    fn many_writers_leave_one_whole_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path().into());
        let image = vec![9u8; 100_000];
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    cache.put("key", &image).expect("written");
                    assert_eq!(cache.get("key").as_ref(), Some(&image));
                });
            }
        });
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_said_not_fatal() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let cache = Cache::at(file.path().join("below a file"));
        let said = cache.put("key", b"image").expect_err("no folder");
        assert!(said.contains("GRAPHALG_CACHE_DIR"), "{said}");
        assert_eq!(cache.get("key"), None);
    }
}
