//! The walker follows the grammar of JSON over the tokens of a window. Between two windows nothing is kept but the state and the open containers.

use super::masks::Index;
use super::repairs::Repairs;
use super::text::{self, Text};
use super::visitor::Visitor;

/// Tokens that must be in sight for a step; the last window has none to wait for. A step takes at most five: key, colon, string.
const LOOKAHEAD_TOKENS: usize = 8;
/// Objects and arrays within each other.
const MAX_DEPTH: usize = 1000;

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum State {
    /// The document.
    #[default]
    Start,
    /// A value or the end of the array.
    First,
    /// A value of the array.
    Next,
    /// A key or the end of the object.
    FirstKey,
    /// A key.
    NextKey,
    /// A comma or the end of the container.
    After,
    /// Nothing.
    Done,
}

/// A window.
pub(super) struct WindowText<'a> {
    /// Its text, a blank at the end.
    pub(super) text: &'a [u8],
    /// Where the text stands in the document.
    pub(super) offset: u64,
    pub(super) is_last: bool,
}

/// Where a walk stopped.
pub(super) enum Stop {
    /// At this byte of the window; the next window begins with it.
    At(usize),
    /// The grammar ends at this byte of the window.
    Damaged { at: usize, what: String },
}

#[derive(Default)]
pub(super) struct Walker {
    pub(super) state: State,
    /// Open containers; true for objects.
    open: Vec<bool>,
}

/// The place in a window.
struct Tokens<'a> {
    text: &'a [u8],
    tokens: &'a [u32],
    odd: std::slice::Iter<'a, u32>,
    next_odd: u32,
}

impl<'a> Tokens<'a> {
    /// Where token `at` begins; beyond the last one, the end of the text.
    #[inline(always)]
    fn place(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(self.text.len() - 1, |place| *place as usize)
    }

    #[inline(always)]
    fn byte(&self, at: usize) -> u8 {
        self.text[self.place(at)]
    }

    /// The string whose opening quote is token `at`. None if it is not closed.
    #[inline(always)]
    fn string(&mut self, at: usize, offset: u64, repairs: &mut Repairs) -> Option<Text<'a>> {
        let (open, close) = (self.place(at), *self.tokens.get(at + 1)?);
        let raw = &self.text[open + 1..close as usize];
        let is_odd = self.next_odd < close;
        if is_odd {
            self.look_at(raw, open, close, offset, repairs);
        }
        Some(Text { raw, is_odd })
    }

    #[cold]
    fn look_at(&mut self, raw: &[u8], open: usize, close: u32, offset: u64, repairs: &mut Repairs) {
        text::check(raw, offset + open as u64 + 1, repairs);
        while self.next_odd < close {
            self.next_odd = self.odd.next().copied().unwrap_or(u32::MAX);
        }
    }
}

impl Walker {
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Goes on with the next element of the list inside so many containers.
    pub(super) fn resume_in(&mut self, depth: usize) {
        self.open.truncate(depth);
        self.state = State::Next;
    }

    /// Follows the grammar as far as the window shows.
    pub(super) fn walk(
        &mut self,
        part: &WindowText<'_>,
        index: &Index,
        visitor: &mut impl Visitor,
        repairs: &mut Repairs,
    ) -> Stop {
        let mut odd = index.odd.iter();
        let next_odd = odd.next().copied().unwrap_or(u32::MAX);
        let mut tokens = Tokens { text: part.text, tokens: index.tokens(), odd, next_odd };
        let end = if part.is_last { tokens.tokens.len() } else { tokens.tokens.len().saturating_sub(LOOKAHEAD_TOKENS) };
        let mut at = 0;
        let mut state = self.state;
        let mut in_object = self.open.last() == Some(&true);
        while at < end {
            // To the value, if one comes here.
            match state {
                State::FirstKey | State::NextKey => {
                    if tokens.byte(at) != b'"' {
                        if state == State::FirstKey && tokens.byte(at) == b'}' {
                            (state, in_object) = self.close(visitor);
                            at += 1;
                            continue;
                        }
                        return damaged(&tokens, at, "a key in quotes");
                    }
                    let Some(key) = tokens.string(at, part.offset, repairs) else { break };
                    if tokens.byte(at + 2) != b':' {
                        if at + 2 >= tokens.tokens.len() {
                            break;
                        }
                        return damaged(&tokens, at + 2, "`:`");
                    }
                    visitor.key(key);
                    at += 3;
                }
                State::After => {
                    match (tokens.byte(at), in_object) {
                        (b',', true) => state = State::NextKey,
                        (b',', false) => state = State::Next,
                        (b'}', true) | (b']', false) => (state, in_object) = self.close(visitor),
                        (_, true) => return damaged(&tokens, at, "`,` or `}`"),
                        (_, false) => return damaged(&tokens, at, "`,` or `]`"),
                    }
                    at += 1;
                    continue;
                }
                State::First if tokens.byte(at) == b']' => {
                    (state, in_object) = self.close(visitor);
                    at += 1;
                    continue;
                }
                State::Done => return damaged(&tokens, at, "the end of the file"),
                State::Start | State::First | State::Next => {}
            }
            // The value.
            let place = tokens.place(at);
            match tokens.text[place] {
                b'"' => {
                    let Some(value) = tokens.string(at, part.offset, repairs) else { break };
                    visitor.string(value);
                    at += 2;
                }
                bracket @ (b'{' | b'[') => {
                    if self.open.len() == MAX_DEPTH {
                        return damaged(&tokens, at, "objects and arrays not more than 1000 deep");
                    }
                    in_object = bracket == b'{';
                    self.open.push(in_object);
                    visitor.open(in_object);
                    at += 1;
                    state = if in_object { State::FirstKey } else { State::First };
                    continue;
                }
                _ => {
                    if at >= tokens.tokens.len() {
                        break;
                    }
                    let raw = tokens.text[place..tokens.place(at + 1)].trim_ascii_end();
                    if is_scalar(raw) {
                        visitor.scalar(raw);
                    } else if matches!(raw, b"NaN" | b"Infinity" | b"-Infinity" | b"nan" | b"inf" | b"-inf" | b"N/A") {
                        repairs.not_numbers.add(part.offset + place as u64);
                        visitor.scalar(b"null");
                    } else {
                        return damaged(&tokens, at, "a value");
                    }
                    at += 1;
                }
            }
            // Most often a comma follows: that needs no look at the state.
            state = self.after();
            if at < end && state == State::After && tokens.byte(at) == b',' {
                state = if in_object { State::NextKey } else { State::Next };
                at += 1;
            }
        }
        self.state = state;
        Stop::At(if at >= end && part.is_last { part.text.len() } else { tokens.place(at) })
    }

    /// Ends the innermost container; what may come next, and whether that is in an object.
    #[inline(always)]
    fn close(&mut self, visitor: &mut impl Visitor) -> (State, bool) {
        self.open.pop();
        visitor.close();
        (self.after(), self.open.last() == Some(&true))
    }

    #[inline(always)]
    fn after(&self) -> State {
        if self.open.is_empty() { State::Done } else { State::After }
    }
}

#[cold]
fn damaged(tokens: &Tokens<'_>, at: usize, expected: &str) -> Stop {
    let place = tokens.place(at);
    let found: Vec<u8> = tokens.text[place..].iter().copied().take(24).take_while(|byte| *byte >= 0x20).collect();
    let found = match String::from_utf8_lossy(&found).trim_end().to_owned() {
        nothing if nothing.is_empty() => "a control character or the end".to_owned(),
        some => format!("`{some}`"),
    };
    Stop::Damaged { at: place, what: format!("found {found}; expected {expected}") }
}

/// Whether this is a number, `true`, `false` or `null`.
#[inline(always)]
fn is_scalar(raw: &[u8]) -> bool {
    match raw.first() {
        Some(b'-' | b'0'..=b'9') => is_number(raw),
        _ => matches!(raw, b"true" | b"false" | b"null"),
    }
}

#[inline(always)]
fn digits(raw: &[u8], mut at: usize) -> usize {
    while at < raw.len() && raw[at].is_ascii_digit() {
        at += 1;
    }
    at
}

#[inline(always)]
fn is_number(raw: &[u8]) -> bool {
    let start = usize::from(raw[0] == b'-');
    let mut at = digits(raw, start);
    if at == start || at > start + 1 && raw[start] == b'0' {
        return false;
    }
    if at < raw.len() && raw[at] == b'.' {
        let point = at + 1;
        at = digits(raw, point);
        if at == point {
            return false;
        }
    }
    if at < raw.len() && raw[at] | 0x20 == b'e' {
        let sign = at + 1 + usize::from(matches!(raw.get(at + 1), Some(b'+' | b'-')));
        at = digits(raw, sign);
        if at == sign {
            return false;
        }
    }
    at == raw.len()
}
