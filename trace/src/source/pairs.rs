//! Events of `ph` B begin what an event of `ph` E ends. This module tells which beginning each end closes.
//!
//! On one track (process and thread) pairs nest: in the order of time an end closes the innermost beginning that is open, or, if both
//! have names, the innermost one of its name. At equal times the order of the file decides. Events need not stand in the order of time, so
//! the halves wait until the file is read: 24 bytes each, and what one of use says. On a track on which nothing of use was seen, pairs that
//! stand beside each other are forgotten at once, so well-formed ranges of the host take memory only as long as they are open.
//! Source: "Trace Event Format", Google, 2016, "Duration Events".

use crate::names::Name;
use crate::recording::Label;
use std::collections::{BTreeMap, HashMap};

/// A process and a thread, as far as the file says them.
pub(super) type Track = (Option<Label>, Option<Label>);

/// A beginning or an end.
#[derive(Debug)]
pub(super) struct Half<T> {
    /// When, in ns.
    pub(super) at_ns: i64,
    pub(super) is_begin: bool,
    /// It says itself that it is of the host.
    pub(super) is_of_host: bool,
    pub(super) name: Option<Name>,
    /// What it says, if that may be of use.
    pub(super) what: Option<Box<T>>,
}

/// A beginning and what closed it.
#[derive(Debug)]
pub(super) struct Pair<T> {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) begin: Option<Box<T>>,
    pub(super) end: Option<Box<T>>,
    /// The name of the beginning, else of the end.
    pub(super) name: Option<Name>,
}

/// What no other half was found for.
#[derive(Debug)]
pub(super) struct Lone<T> {
    /// Beginnings that may be of use.
    pub(super) begins: Vec<Box<T>>,
    /// Ends that do not say that they are of the host.
    pub(super) ends: u64,
}

const _: () = assert!(size_of::<Half<u8>>() <= 24, "the head of this file says so");

/// The halves of one track.
#[derive(Debug)]
struct Halves<T> {
    all: Vec<Half<T>>,
    is_of_use: bool,
}

/// The halves of all tracks.
#[derive(Debug)]
pub(super) struct Pairs<T> {
    tracks: BTreeMap<Track, Halves<T>>,
}

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Pairs { tracks: BTreeMap::new() }
    }
}

fn fits<T>(begin: &Half<T>, end: &Half<T>) -> bool {
    begin.name.is_none() || end.name.is_none() || begin.name == end.name
}

impl<T> Pairs<T> {
    /// Takes in a half, in the order of the file.
    pub(super) fn add(&mut self, track: Track, half: Half<T>) {
        let halves = self.tracks.entry(track).or_insert_with(|| Halves { all: Vec::new(), is_of_use: false });
        halves.is_of_use |= half.what.is_some();
        let closes = |last: &Half<T>| last.is_begin && last.at_ns <= half.at_ns && fits(last, &half);
        if !halves.is_of_use && !half.is_begin && halves.all.last().is_some_and(closes) {
            halves.all.pop();
        } else {
            halves.all.push(half);
        }
    }

    /// Calls `take` with each pair of which a half says something; what is left.
    pub(super) fn finish(self, mut take: impl FnMut(Pair<T>)) -> Lone<T> {
        let mut lone = Lone { begins: Vec::new(), ends: 0 };
        for (_, mut halves) in self.tracks {
            halves.all.sort_by_key(|half| half.at_ns);
            match_track(halves.all, &mut take, &mut lone);
        }
        lone
    }
}

/// Matches the halves of one track, which are in order of time.
fn match_track<T>(all: Vec<Half<T>>, take: &mut impl FnMut(Pair<T>), lone: &mut Lone<T>) {
    let mut open: Vec<Option<Half<T>>> = Vec::new();
    // Places in `open`, innermost last: of all beginnings, and of those of each name (or none).
    let (mut places, mut by_name): (Vec<usize>, HashMap<Option<Name>, Vec<usize>>) = (Vec::new(), HashMap::new());
    for half in all {
        if half.is_begin {
            places.push(open.len());
            by_name.entry(half.name).or_default().push(open.len());
            open.push(Some(half));
            continue;
        }
        let innermost = |places: Option<&mut Vec<usize>>| {
            let places = places?;
            while places.last().is_some_and(|place| open[*place].is_none()) {
                places.pop();
            }
            places.last().copied()
        };
        let found = match half.name {
            None => innermost(Some(&mut places)),
            name => innermost(by_name.get_mut(&name)).max(innermost(by_name.get_mut(&None))),
        };
        match found.and_then(|place| open[place].take()) {
            Some(begin) if begin.what.is_some() || half.what.is_some() => take(Pair {
                start_ns: begin.at_ns,
                end_ns: half.at_ns,
                name: begin.name.or(half.name),
                begin: begin.what,
                end: half.what,
            }),
            Some(_) => {}
            None => lone.ends += u64::from(!half.is_of_host),
        }
    }
    lone.begins.extend(open.into_iter().flatten().filter_map(|begin| begin.what));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Names;

    /// Halves as `(time, begins, name, what)`; pairs as `start-end name`, and how many ends and beginnings are left.
    fn check(halves: &[(i64, bool, &str, Option<u8>)], expected: &[&str], left: (usize, u64)) {
        let mut names = Names::default();
        let mut pairs = Pairs::default();
        for &(at_ns, is_begin, name, what) in halves {
            let name = (!name.is_empty()).then(|| names.name(name));
            let half = Half { at_ns, is_begin, is_of_host: false, name, what: what.map(Box::new) };
            pairs.add((Some(Label::Number(0)), None), half);
        }
        let mut found = Vec::new();
        let lone = pairs.finish(|pair| {
            let name = pair.name.map_or("", |name| names.text(name));
            found.push(format!("{}-{} {name}", pair.start_ns, pair.end_ns));
        });
        found.sort();
        assert_eq!(
            (found, (lone.begins.len(), lone.ends)),
            (expected.iter().map(|text| (*text).to_owned()).collect(), left)
        );
    }

    #[test]
    fn pairs_nest_and_names_decide_where_they_are() {
        let some = Some(0);
        check(&[(0, true, "a", some), (5, false, "", None)], &["0-5 a"], (0, 0));
        check(
            &[(0, true, "a", some), (1, true, "b", some), (2, false, "", None), (9, false, "", None)],
            &["0-9 a", "1-2 b"],
            (0, 0),
        );
        check(
            &[(0, true, "a", some), (1, true, "b", some), (2, false, "a", None), (9, false, "b", None)],
            &["0-2 a", "1-9 b"],
            (0, 0),
        );
        let unnamed = [(0, true, "a", some), (1, true, "", some), (2, false, "a", None), (9, false, "a", None)];
        check(&unnamed, &["0-9 a", "1-2 a"], (0, 0));
        check(&[(5, false, "", None), (0, true, "a", some)], &["0-5 a"], (0, 0));
        check(&[(0, true, "a", some), (5, false, "b", None)], &[], (1, 1));
        check(&[(3, true, "a", some), (3, false, "", None)], &["3-3 a"], (0, 0));
    }

    #[test]
    fn what_is_of_no_use_is_neither_told_nor_counted_but_lone_ends_are() {
        check(&[(0, true, "a", None), (5, false, "a", None), (6, false, "a", None)], &[], (0, 1));
        check(
            &[(0, true, "host", None), (1, true, "k", Some(1)), (4, false, "", None), (9, false, "", None)],
            &["1-4 k"],
            (0, 0),
        );
        check(&[(0, true, "host", None)], &[], (0, 0));
    }
}
