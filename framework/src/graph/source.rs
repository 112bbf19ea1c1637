//! Where the bytes of an input come from: a file (mapped), standard input, or the program itself; unpacked if packed.
//!
//! gzip (several members too), xz and zstd are told by their first bytes, whatever the file is called. A packed stream that
//! ends early or fails its checks is an error, so nothing is ever built from half an input. Unpacking goes to memory, block by block.

use super::text::{LoadStage, Progress};
use crate::base::error::{Error, Result};
use crate::base::memory::map_file;
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
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

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// An input, opened.
pub(super) enum Opened {
    /// All bytes are at hand.
    Whole(Bytes),
    /// They come one after the other.
    Stream(Stream),
}

/// Opens an input; looks whether it is packed, but unpacks nothing yet.
pub(super) fn open(input: &Input) -> Result<Opened> {
    let path = input.path();
    let bytes = match input {
        Input::Path(path) if path != Path::new("-") => {
            let read_error = |source| read_error(path, source);
            let file = File::open(path).map_err(read_error)?;
            let metadata = file.metadata().map_err(read_error)?;
            if metadata.is_dir() {
                let folder = io::Error::new(io::ErrorKind::IsADirectory, "it is a folder; name a file in it");
                return Err(read_error(folder));
            }
            if !metadata.is_file() || metadata.len() == 0 {
                return piped(path, BufReader::new(file)); // a pipe, or a file whose length the system does not know
            }
            Bytes::Mapped(Arc::new(map_file(&file).map_err(read_error)?))
        }
        Input::Path(_) | Input::Stdin => return piped(path, BufReader::new(io::stdin())),
        Input::Embedded { bytes, .. } => Bytes::Static(bytes),
    };
    match Packing::of(&bytes) {
        None => Ok(Opened::Whole(bytes)),
        Some(packing) => Stream::new(path, Some(packing), bytes.len() as u64, Cursor::new(bytes)).map(Opened::Stream),
    }
}

/// Bytes that can be read only once.
fn piped(path: &Path, mut reader: impl BufRead + Send + 'static) -> Result<Opened> {
    let mut head = Vec::new();
    reader.by_ref().take(6).read_to_end(&mut head).map_err(|source| read_error(path, source))?;
    let packing = Packing::of(&head);
    Stream::new(path, packing, 0, Cursor::new(head).chain(reader)).map(Opened::Stream)
}

fn read_error(path: &Path, source: io::Error) -> Error {
    Error::Read { path: path.to_path_buf(), source }
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
}

/// Bytes on their way to memory, unpacked if packed.
pub(super) struct Stream {
    path: PathBuf,
    packing: Option<Packing>,
    reader: Box<dyn Read + Send>,
    produced: u64,
    /// Bytes of the packed file; 0 if unknown.
    total: u64,
}

impl Stream {
    fn new(path: &Path, packing: Option<Packing>, total: u64, packed: impl BufRead + Send + 'static) -> Result<Stream> {
        let reader: Box<dyn Read + Send> = match packing {
            None => Box::new(packed),
            Some(Packing::Gzip) => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
            Some(Packing::Xz) => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(packed)),
            Some(Packing::Zstd) => {
                let environment = |error| Error::Environment(format!("zstd cannot be set up: {error}"));
                let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(environment)?;
                decoder.window_log_max(31).map_err(environment)?; // streams packed with --long=31 too
                Box::new(decoder)
            }
        };
        Ok(Stream { path: path.to_path_buf(), packing, reader, produced: 0, total })
    }

    /// The bytes of a whole input, to be read in the same way.
    pub(super) fn plain(path: &Path, bytes: Bytes) -> Result<Stream> {
        Stream::new(path, None, bytes.len() as u64, Cursor::new(bytes))
    }

    /// Bytes of the file, packed or not; 0 if unknown.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Appends up to `limit` bytes; fewer only at the end.
    pub(super) fn read(&mut self, bytes: &mut Vec<u8>, limit: usize, progress: Progress<'_>) -> Result<usize> {
        bytes.reserve(limit.min(1 << 24));
        let outcome = self.reader.by_ref().take(limit as u64).read_to_end(bytes);
        match outcome {
            Ok(count) => {
                self.produced += count as u64;
                progress.tell(LoadStage::Unpack, self.produced, 0);
                Ok(count)
            }
            Err(cause) => Err(self.error(cause)),
        }
    }

    /// All that is left.
    pub(super) fn read_whole(mut self, mut bytes: Vec<u8>, progress: Progress<'_>) -> Result<Vec<u8>> {
        while self.read(&mut bytes, 1 << 22, progress)? > 0 {}
        Ok(bytes)
    }

    fn error(&self, cause: io::Error) -> Error {
        let name = match self.packing {
            None => return read_error(&self.path, cause),
            Some(Packing::Gzip) => "gzip",
            Some(Packing::Xz) => "xz",
            Some(Packing::Zstd) => "zstd",
        };
        let state = if cause.kind() == io::ErrorKind::UnexpectedEof {
            "is truncated: it ends before its end mark"
        } else {
            "is damaged"
        };
        Error::Format {
            path: self.path.clone(),
            problem: format!(
                "the {name} stream {state} (after {} bytes of content or more: {cause}); fetch or pack the file again",
                self.produced
            ),
        }
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
        let packed = Cursor::new(bytes.to_vec());
        let stream = Stream::new(Path::new("x"), Some(packing), 0, packed).expect("set up");
        stream.read_whole(Vec::new(), Progress::default()).map_err(|error| error.to_string())
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
    fn a_pipe_is_read_whole_packed_or_not() {
        let text: Vec<u8> = (0..9_000u32).flat_map(|i| format!("{i} {}\n", i + 1).into_bytes()).collect();
        for bytes in
            [text.clone(), packed(Packing::Gzip, &text), packed(Packing::Xz, &text), packed(Packing::Zstd, &text)]
        {
            let Ok(Opened::Stream(stream)) = piped(Path::new("-"), Cursor::new(bytes)) else { panic!("a stream") };
            assert_eq!(stream.read_whole(Vec::new(), Progress::default()).ok(), Some(text.clone()));
        }
        for short in [&b""[..], b"0 1"] {
            let Ok(Opened::Stream(stream)) = piped(Path::new("-"), short) else { panic!("a stream") };
            assert_eq!(stream.read_whole(Vec::new(), Progress::default()).ok().as_deref(), Some(short));
        }
    }

    #[test]
    fn a_folder_and_a_missing_file_are_read_errors_with_the_path() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in [folder.path().to_path_buf(), folder.path().join("missing.txt")] {
            let error = open(&Input::Path(path.clone())).err().expect("no file");
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
