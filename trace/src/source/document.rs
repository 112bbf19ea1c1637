//! The outermost keys of a JSON document tell of which kind it is; what they hold goes to the reader of that kind.

use super::chrome::Events;
use super::options::Options;
use super::rocprof::Dispatches;
use crate::json::{Text, Visitor};
use crate::recording::Recording;
use crate::time::integer;

/// What the value of an outermost key is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Top {
    Events,
    Distributed,
    Rocprof,
    Other,
}

/// Takes in a document.
pub(super) struct Document<'o> {
    /// Containers open.
    level: usize,
    top: Top,
    is_list: bool,
    saw_document: bool,
    saw_events: bool,
    saw_rocprof: bool,
    /// The key at level two is `rank`.
    is_rank: bool,
    events: Events<'o>,
    rocprof: Dispatches<'o>,
    recording: Recording,
}

impl<'o> Document<'o> {
    pub(super) fn new(options: &'o Options) -> Document<'o> {
        Document {
            level: 0,
            top: Top::Other,
            is_list: false,
            saw_document: false,
            saw_events: false,
            saw_rocprof: false,
            is_rank: false,
            events: Events::new(options),
            rocprof: Dispatches::new(options),
            recording: Recording::default(),
        }
    }

    /// Whether it began as JSON documents of traces do.
    pub(super) fn is_text(&self) -> bool {
        self.saw_document
    }

    /// What was read; on failure, what the document is instead.
    pub(super) fn finish(mut self) -> Result<Recording, String> {
        if self.saw_rocprof {
            self.rocprof.finish(&mut self.recording);
        } else if self.saw_events {
            self.events.finish(&mut self.recording);
        } else {
            return Err(if self.saw_document {
                "it is JSON without `traceEvents` or `rocprofiler-sdk-tool`".into()
            } else {
                "it is JSON, but neither an object nor a list".into()
            });
        }
        Ok(self.recording)
    }

    /// The level of the list of events.
    fn list_level(&self) -> usize {
        if self.is_list { 1 } else { 2 }
    }

    #[inline(always)]
    fn in_events(&self) -> bool {
        self.top == Top::Events && self.level > self.list_level()
    }
}

impl Visitor for Document<'_> {
    #[inline(always)]
    fn open(&mut self, is_object: bool) {
        self.level += 1;
        if self.in_events() {
            self.events.open(self.level - self.list_level(), is_object);
        } else if self.top == Top::Rocprof {
            self.rocprof.open(self.level);
        } else if self.level == 2 && self.top == Top::Events {
            self.saw_events = !is_object;
        } else if self.level == 1 {
            self.saw_document = true;
            self.is_list = !is_object;
            if self.is_list {
                (self.top, self.saw_events) = (Top::Events, true);
            }
        }
        self.is_rank = false;
    }

    #[inline(always)]
    fn close(&mut self) {
        if self.in_events() {
            self.events.close(self.level - self.list_level(), &mut self.recording);
        } else if self.top == Top::Rocprof {
            self.rocprof.close(self.level, &mut self.recording);
        }
        self.level -= 1;
        if self.level == 1 && !self.is_list {
            self.top = Top::Other;
        }
    }

    #[inline(always)]
    fn key(&mut self, key: Text<'_>) {
        if self.in_events() {
            self.events.key(self.level - self.list_level(), key);
        } else if self.top == Top::Rocprof {
            self.rocprof.key(self.level, key);
        } else if self.level == 1 {
            self.top = match &*key.bytes() {
                b"traceEvents" => Top::Events,
                b"distributedInfo" => Top::Distributed,
                b"rocprofiler-sdk-tool" => {
                    self.saw_rocprof = true;
                    Top::Rocprof
                }
                _ => Top::Other,
            };
        } else if self.level == 2 {
            self.is_rank = self.top == Top::Distributed && &*key.bytes() == b"rank";
        }
    }

    #[inline(always)]
    fn string(&mut self, value: Text<'_>) {
        if self.in_events() {
            self.events.string(self.level - self.list_level(), value);
        } else if self.top == Top::Rocprof {
            self.rocprof.string(self.level, value);
        } else if std::mem::take(&mut self.is_rank) && self.level == 2 {
            self.recording.rank = integer(&value.bytes());
        }
    }

    #[inline(always)]
    fn scalar(&mut self, raw: &[u8]) {
        if self.in_events() {
            self.events.scalar(self.level - self.list_level(), raw);
        } else if self.top == Top::Rocprof {
            self.rocprof.scalar(self.level, raw);
        } else if std::mem::take(&mut self.is_rank) && self.level == 2 {
            self.recording.rank = integer(raw);
        }
    }

    fn list_depth(&self) -> Option<usize> {
        (self.top == Top::Events && self.level >= self.list_level()).then(|| self.list_level())
    }

    fn abandon(&mut self) {
        self.level = self.list_level();
        self.events.abandon();
    }

    fn is_usable(&self) -> bool {
        self.saw_events || self.saw_rocprof
    }
}
