//! Where the bytes of an input come from: a file (mapped), standard input, or the program itself; unpacked if packed.
//!
//! gzip, xz, zstd and bzip2 are told by their first bytes, whatever the file is called, and may have several members. A packed stream
//! that ends early or fails its checks is an error, so nothing is ever built from half an input. Zero bytes after the last member,
//! as tapes and block stores leave them, are skipped; other bytes there are a warning. Unpacking goes to memory, block by block.

use super::Graph;
use super::progress::{LoadStage, Progress};
use crate::base::error::{Error, Result};
use crate::base::memory::map_file;
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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
    [".gz", ".xz", ".zst", ".bz2"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
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
    Bzip2,
}

impl Packing {
    const ALL: [Packing; 4] = [Packing::Gzip, Packing::Xz, Packing::Zstd, Packing::Bzip2];

    fn of(bytes: &[u8]) -> Option<Packing> {
        Packing::ALL.into_iter().find(|packing| bytes.starts_with(packing.magic()))
    }

    fn magic(self) -> &'static [u8] {
        match self {
            Packing::Gzip => &[0x1f, 0x8b, 8],
            Packing::Xz => &[0xfd, b'7', b'z', b'X', b'Z', 0],
            Packing::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
            Packing::Bzip2 => b"BZh",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Xz => "xz",
            Packing::Zstd => "zstd",
            Packing::Bzip2 => "bzip2",
        }
    }
}

/// The packed bytes, some of which were looked at and given back.
struct Packed {
    given_back: Vec<u8>,
    rest: Box<dyn BufRead + Send>,
}

impl Read for Packed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.fill_buf()?.read(into)?;
        self.consume(len);
        Ok(len)
    }
}

impl BufRead for Packed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.given_back.is_empty() { self.rest.fill_buf() } else { Ok(&self.given_back) }
    }

    fn consume(&mut self, count: usize) {
        if self.given_back.is_empty() {
            self.rest.consume(count);
        } else {
            self.given_back.drain(..count);
        }
    }
}

impl Packed {
    /// Skips zeroes; whether something follows them.
    fn skip_zeroes(&mut self) -> io::Result<bool> {
        loop {
            let bytes = self.fill_buf()?;
            let (zeroes, len) = (bytes.iter().take_while(|&&byte| byte == 0).count(), bytes.len());
            self.consume(zeroes);
            if zeroes < len || len == 0 {
                return Ok(len > 0);
            }
        }
    }

    /// The next bytes, which stay; fewer than `count` only at the end.
    fn look_at(&mut self, count: usize) -> io::Result<&[u8]> {
        let mut bytes = Vec::new();
        self.by_ref().take(count as u64).read_to_end(&mut bytes)?;
        bytes.append(&mut self.given_back);
        self.given_back = bytes;
        Ok(&self.given_back[..count.min(self.given_back.len())])
    }
}

/// One member on its way out of its packing.
enum Member {
    Gzip(flate2::bufread::GzDecoder<Packed>),
    Xz(liblzma::bufread::XzDecoder<Packed>),
    Zstd(zstd::stream::read::Decoder<'static, Packed>),
    Bzip2(bzip2::bufread::BzDecoder<Packed>),
}

impl Member {
    fn new(packing: Packing, packed: Packed) -> io::Result<Member> {
        Ok(match packing {
            Packing::Gzip => Member::Gzip(flate2::bufread::GzDecoder::new(packed)),
            Packing::Xz => Member::Xz(liblzma::bufread::XzDecoder::new(packed)),
            Packing::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?.single_frame();
                decoder.window_log_max(31)?; // streams packed with --long=31 too
                Member::Zstd(decoder)
            }
            Packing::Bzip2 => Member::Bzip2(bzip2::bufread::BzDecoder::new(packed)),
        })
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Member::Gzip(decoder) => decoder.read(into),
            Member::Xz(decoder) => decoder.read(into),
            Member::Zstd(decoder) => decoder.read(into),
            Member::Bzip2(decoder) => decoder.read(into),
        }
    }

    /// What follows it.
    fn into_packed(self) -> Packed {
        match self {
            Member::Gzip(decoder) => decoder.into_inner(),
            Member::Xz(decoder) => decoder.into_inner(),
            Member::Zstd(decoder) => decoder.finish(),
            Member::Bzip2(decoder) => decoder.into_inner(),
        }
    }
}

/// All members of a packed stream, one after the other.
struct Members {
    packing: Packing,
    member: Option<Member>,
    remarks: Remarks,
}

impl Read for Members {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(member) = &mut self.member else { return Ok(0) };
            let count = member.read(into)?;
            if count > 0 || into.is_empty() {
                return Ok(count);
            }
            let Some(mut packed) = self.member.take().map(Member::into_packed) else { return Ok(0) };
            if !packed.skip_zeroes()? {
                return Ok(0);
            }
            let magic = self.packing.magic();
            let head = packed.look_at(magic.len())?;
            // zstd writes frames without content that begin otherwise.
            let is_skippable = self.packing == Packing::Zstd && head.len() == 4 && head[1..] == [0x2a, 0x4d, 0x18];
            if head == magic || is_skippable && head[0] & 0xf0 == 0x50 {
                self.member = Some(Member::new(self.packing, packed)?);
            } else if magic.starts_with(head) {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a further member is cut short"));
            } else {
                let after = io::copy(&mut packed, &mut io::sink())?;
                self.remarks.after.store(after, Relaxed);
                return Ok(0);
            }
        }
    }
}

/// What turns out to be odd about a packed stream while it is read.
#[derive(Clone, Default)]
pub(super) struct Remarks {
    /// Bytes after the last member. Relaxed: looked at when all was read, by the thread that saw it end.
    after: Arc<AtomicU64>,
}

impl Remarks {
    /// Warns of it.
    pub(super) fn warn(&self, path: &Path, graph: &mut Graph) {
        let after = self.after.load(Relaxed);
        if after > 0 {
            graph.warn(format!(
                "{}: {after} bytes after the end of the packed content are no part of it and were ignored",
                path.display()
            ));
        }
    }
}

/// Bytes on their way to memory, unpacked if packed.
pub(super) struct Stream {
    path: PathBuf,
    packing: Option<Packing>,
    reader: Box<dyn Read + Send>,
    remarks: Remarks,
    produced: u64,
    /// Bytes of the packed file; 0 if unknown.
    total: u64,
}

impl Stream {
    fn new(path: &Path, packing: Option<Packing>, total: u64, packed: impl BufRead + Send + 'static) -> Result<Stream> {
        let remarks = Remarks::default();
        let reader: Box<dyn Read + Send> = match packing {
            None => Box::new(packed),
            Some(packing) => {
                let packed = Packed { given_back: Vec::new(), rest: Box::new(packed) };
                let environment = |error| Error::Environment(format!("{} cannot be set up: {error}", packing.name()));
                let member = Some(Member::new(packing, packed).map_err(environment)?);
                Box::new(Members { packing, member, remarks: remarks.clone() })
            }
        };
        Ok(Stream { path: path.to_path_buf(), packing, reader, remarks, produced: 0, total })
    }

    /// What is odd about it, to be asked when all was read.
    pub(super) fn remarks(&self) -> Remarks {
        self.remarks.clone()
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
        let Some(name) = self.packing.map(Packing::name) else { return read_error(&self.path, cause) };
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
            Packing::Bzip2 => {
                let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                encoder.write_all(text).expect("in memory");
                encoder.finish().expect("in memory")
            }
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
        for packing in Packing::ALL {
            let mut bytes = packed(packing, &text);
            assert_eq!(check(packing, &bytes).as_deref(), Ok(&text[..]));
            bytes.extend(packed(packing, b"more\n"));
            assert_eq!(check(packing, &bytes).map(|all| all.len()), Ok(text.len() + 5));
        }
    }

    #[test]
    fn zeroes_after_the_last_member_are_skipped_and_other_bytes_are_a_remark() {
        for packing in Packing::ALL {
            let whole = packed(packing, b"0 1\n");
            for (after, remark) in [
                (vec![0; 70_000], 0),
                ([vec![0; 512], packed(packing, b"1 2\n")].concat(), 0),
                (b"\0\0trailer".to_vec(), 7),
                (vec![0xff; 70_000], 70_000),
            ] {
                let bytes = [&whole[..], &after].concat();
                let stream = Stream::new(Path::new("x"), Some(packing), 0, Cursor::new(bytes)).expect("set up");
                let remarks = stream.remarks();
                let content = stream.read_whole(Vec::new(), Progress::default()).expect("whole");
                assert!(content.starts_with(b"0 1\n") && content.len() <= 8, "{packing:?}");
                assert_eq!(remarks.after.load(Relaxed), remark, "{packing:?}");
            }
            let cut = [&whole[..], &packing.magic()[..2]].concat();
            assert!(check(packing, &cut).expect_err("a member cut short").contains("truncated"), "{packing:?}");
        }
    }

    #[test]
    fn a_stream_cut_anywhere_or_damaged_is_an_error() {
        let text: Vec<u8> = (0..300u32).flat_map(|i| format!("{i} {}\n", i * 77 % 1000).into_bytes()).collect();
        for packing in Packing::ALL {
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
        for bytes in Packing::ALL.map(|packing| packed(packing, &text)).into_iter().chain([text.clone()]) {
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
