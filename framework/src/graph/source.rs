//! Where the bytes of an input come from: a file (mapped), standard input, or the program itself; unpacked if packed.
//!
//! gzip (several members too), xz and zstd are told by their first bytes, whatever the file is called. A packed stream that
//! ends early or fails its checks is an error, so nothing is ever built from half an input. Unpacking goes to memory.

use super::text::Progress;
use crate::error::{Error, Result};
use crate::memory::map_file;
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An input, not yet opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A file; `-` means standard input.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes in the program.
    Embedded {
        /// What people call the graph.
        name: &'static str,
        /// The content, packed or not.
        bytes: &'static [u8],
        /// The name of the file it was made from; its endings tell the format.
        file_name: &'static str,
    },
}

impl Input {
    /// What stands for the input in messages: the path, `-`, or the embedded file's name.
    pub fn path(&self) -> &Path {
        match self {
            Input::Path(path) => path,
            Input::Stdin => Path::new("-"),
            Input::Embedded { file_name, .. } => Path::new(file_name),
        }
    }

    /// The file name without endings that name a packing or a format.
    pub fn graph_name(&self) -> String {
        match self {
            Input::Embedded { name, .. } => (*name).to_string(),
            _ if self.path() == Path::new("-") => "stdin".to_string(),
            _ => {
                let name = self.path().file_name().unwrap_or_default().to_string_lossy();
                let name = unpacked_name(&name);
                match name.rsplit_once('.') {
                    Some((stem, ending)) if !stem.is_empty() && ending.parse::<u64>().is_err() => stem.to_string(),
                    _ => name.to_string(),
                }
            }
        }
    }
}

/// The file name without the ending of a packing.
pub(super) fn unpacked_name(name: &str) -> &str {
    [".gz", ".xz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// The content of an input, unpacked.
pub(super) enum Bytes {
    /// A plain file.
    Mapped(Arc<Mmap>),
    /// Read or unpacked.
    Owned(Vec<u8>),
    /// In the program.
    Static(&'static [u8]),
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
            Bytes::Static(bytes) => bytes,
        }
    }
}

/// Opens an input and unpacks it.
pub(super) fn open(input: &Input, progress: Progress<'_>) -> Result<Bytes> {
    let packed = match input {
        Input::Path(path) if path != Path::new("-") => file(path)?,
        Input::Path(_) | Input::Stdin => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map_err(|source| read_error(input.path(), source))?;
            Bytes::Owned(bytes)
        }
        Input::Embedded { bytes, .. } => Bytes::Static(bytes),
    };
    match Packing::of(&packed) {
        None => Ok(packed),
        Some(packing) => packing.unpack(input.path(), &packed, progress).map(Bytes::Owned),
    }
}

fn read_error(path: &Path, source: io::Error) -> Error {
    Error::Read { path: path.to_path_buf(), source }
}

fn file(path: &Path) -> Result<Bytes> {
    let read_error = |source| read_error(path, source);
    let mut file = File::open(path).map_err(read_error)?;
    let metadata = file.metadata().map_err(read_error)?;
    if metadata.is_dir() {
        return Err(read_error(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder; name a file in it")));
    }
    if metadata.is_file() && metadata.len() > 0 {
        return Ok(Bytes::Mapped(Arc::new(map_file(&file).map_err(read_error)?)));
    }
    let mut bytes = Vec::new(); // a pipe, or a file whose length the system does not know
    file.read_to_end(&mut bytes).map_err(read_error)?;
    Ok(Bytes::Owned(bytes))
}

/// How a stream is packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Packing {
    Gzip,
    Xz,
    Zstd,
}

impl Packing {
    fn of(bytes: &[u8]) -> Option<Packing> {
        let kinds: [(Packing, &[u8]); 3] = [
            (Packing::Gzip, &[0x1f, 0x8b, 8]),
            (Packing::Xz, &[0xfd, b'7', b'z', b'X', b'Z', 0]),
            (Packing::Zstd, &[0x28, 0xb5, 0x2f, 0xfd]),
        ];
        kinds.into_iter().find(|(_, magic)| bytes.starts_with(magic)).map(|(packing, _)| packing)
    }

    fn unpack(self, path: &Path, packed: &[u8], progress: Progress<'_>) -> Result<Vec<u8>> {
        let counted = Counted { left: packed, total: packed.len() as u64, progress };
        let mut bytes = Vec::with_capacity(packed.len().saturating_mul(4));
        let (name, outcome) = match self {
            Packing::Gzip => ("gzip", flate2::bufread::MultiGzDecoder::new(counted).read_to_end(&mut bytes)),
            Packing::Xz => ("xz", liblzma::bufread::XzDecoder::new_multi_decoder(counted).read_to_end(&mut bytes)),
            Packing::Zstd => ("zstd", unpack_zstd(counted, &mut bytes)),
        };
        match outcome {
            Ok(_) => Ok(bytes),
            Err(cause) => {
                let state = if cause.kind() == io::ErrorKind::UnexpectedEof {
                    "is truncated: it ends before its end mark"
                } else {
                    "is damaged"
                };
                Err(Error::Format {
                    path: path.to_path_buf(),
                    problem: format!(
                        "the {name} stream {state} (after {} bytes of content: {cause}); fetch or pack the file again",
                        bytes.len()
                    ),
                })
            }
        }
    }
}

fn unpack_zstd(packed: Counted<'_>, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
    decoder.window_log_max(31)?; // streams packed with --long=31 too
    decoder.read_to_end(bytes)
}

/// The packed bytes, telling how far the unpacking is.
struct Counted<'a> {
    left: &'a [u8],
    total: u64,
    progress: Progress<'a>,
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = Read::read(&mut self.left, into)?;
        self.progress.unpacked(self.total - self.left.len() as u64, self.total);
        Ok(count)
    }
}

impl io::BufRead for Counted<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        // Small bites, so that progress moves.
        Ok(&self.left[..self.left.len().min(1 << 16)])
    }

    fn consume(&mut self, amount: usize) {
        self.left = &self.left[amount..];
        self.progress.unpacked(self.total - self.left.len() as u64, self.total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn packed(packing: Packing, text: &[u8]) -> Vec<u8> {
        match packing {
            Packing::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(text).expect("in memory");
                encoder.finish().expect("in memory")
            }
            Packing::Xz => {
                let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
                encoder.write_all(text).expect("in memory");
                encoder.finish().expect("in memory")
            }
            Packing::Zstd => zstd::stream::encode_all(text, 1).expect("in memory"),
        }
    }

    fn check(packing: Packing, bytes: &[u8]) -> Result<Vec<u8>, String> {
        assert_eq!(Packing::of(bytes), Some(packing));
        packing.unpack(Path::new("x"), bytes, Progress::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn streams_of_several_members_unpack_whole() {
        let text: Vec<u8> = (0..50_000u32).flat_map(|i| format!("{i}\t{}\n", i * 7).into_bytes()).collect();
        for packing in [Packing::Gzip, Packing::Xz, Packing::Zstd] {
            let mut bytes = packed(packing, &text);
            assert_eq!(check(packing, &bytes).as_deref(), Ok(&text[..]));
            bytes.extend(packed(packing, b"more\n"));
            assert_eq!(check(packing, &bytes).map(|all| all.len()), Ok(text.len() + 5));
        }
    }

    #[test]
    fn a_stream_cut_anywhere_or_damaged_is_an_error() {
        let text: Vec<u8> = (0..300u32).flat_map(|i| format!("{i} {}\n", i * 77 % 1000).into_bytes()).collect();
        for packing in [Packing::Gzip, Packing::Xz, Packing::Zstd] {
            let whole = packed(packing, &text);
            for cut in 6..whole.len() {
                let error = check(packing, &whole[..cut]).expect_err("a cut stream");
                assert!(error.contains("truncated") || error.contains("damaged"), "{packing:?} {cut}: {error}");
            }
            let error = check(packing, &whole[..whole.len() - 1]).expect_err("a cut stream");
            assert!(error.contains("is truncated"), "{packing:?}: {error}");
            let mut damaged = whole.clone();
            let middle = damaged.len() / 2;
            damaged[middle] ^= 0x55;
            if let Ok(other) = check(packing, &damaged) {
                assert_eq!(packing, Packing::Zstd, "no checksum"); // zstd streams need not carry one
                assert_ne!(other, text);
            }
        }
    }

    #[test]
    fn a_folder_and_a_missing_file_are_read_errors_with_the_path() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in [folder.path().to_path_buf(), folder.path().join("missing.txt")] {
            let error = open(&Input::Path(path.clone()), Progress::default()).err().expect("no file");
            assert!(matches!(&error, Error::Read { path: named, .. } if *named == path), "{error}");
        }
    }

    #[test]
    fn names_lose_their_folder_and_endings() {
        for (path, name) in [("a/b.txt.gz", "b"), ("road-NY.txt", "road-NY"), ("v1.2", "v1.2"), (".hidden", ".hidden")]
        {
            assert_eq!(Input::Path(path.into()).graph_name(), name);
        }
        assert_eq!(Input::Path("-".into()).graph_name(), "stdin");
    }
}
