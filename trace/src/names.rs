//! Texts and attributes are kept once each, in a table; activities and device events hold small numbers that stand for them.

use std::collections::HashMap;
use std::num::NonZeroU32;

/// A number below 2^32 - 1. `Option<Index>` takes four bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Index(NonZeroU32);

impl Index {
    /// None for 2^32 - 1.
    pub fn new(number: u32) -> Option<Index> {
        NonZeroU32::new(number.wrapping_add(1)).map(Index)
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0.get() - 1
    }
}

/// A text of a [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(Index);

impl Name {
    /// Its place in the table.
    pub(crate) fn place(self) -> u32 {
        self.0.get()
    }

    /// The name at a place that [`Name::place`] gave.
    pub(crate) fn at(place: u32) -> Option<Name> {
        Index::new(place).map(Name)
    }
}

/// A list of attributes of a [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Detail(Index);

/// The table behind [`Name`] and [`Detail`]. An index is good for the table that gave it.
#[derive(Clone, Default, Debug)]
pub struct Names {
    texts: Vec<Box<str>>,
    by_text: HashMap<Box<str>, Name>,
    details: Vec<Box<[(Name, i64)]>>,
    by_detail: HashMap<Box<[(Name, i64)]>, Detail>,
}

impl Names {
    /// The name of this text.
    ///
    /// # Panics
    /// At 2^32 - 1 different texts.
    pub fn name(&mut self, text: &str) -> Name {
        if let Some(&name) = self.by_text.get(text) {
            return name;
        }
        let name = Name(next(self.texts.len()));
        self.texts.push(text.into());
        self.by_text.insert(text.into(), name);
        name
    }

    /// The text of a name.
    ///
    /// # Panics
    /// If another, longer table gave it.
    pub fn text(&self, name: Name) -> &str {
        &self.texts[name.0.get() as usize]
    }

    /// The detail with these attributes, in this order.
    ///
    /// # Panics
    /// At 2^32 - 1 different lists.
    pub fn detail(&mut self, attributes: &[(Name, i64)]) -> Detail {
        if let Some(&detail) = self.by_detail.get(attributes) {
            return detail;
        }
        let detail = Detail(next(self.details.len()));
        self.details.push(attributes.into());
        self.by_detail.insert(attributes.into(), detail);
        detail
    }

    /// The attributes of a detail.
    ///
    /// # Panics
    /// If another, longer table gave it.
    pub fn attributes(&self, detail: Detail) -> impl Iterator<Item = (&str, i64)> {
        self.details[detail.0.get() as usize].iter().map(|&(name, value)| (self.text(name), value))
    }
}

fn next(len: usize) -> Index {
    u32::try_from(len).ok().and_then(Index::new).expect("fewer than 2^32 - 1 entries")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_and_a_list_are_kept_once_and_read_back() {
        let mut names = Names::default();
        let (a, b) = (names.name("a"), names.name("b"));
        assert_eq!((names.name("a"), a == b), (a, false));
        assert_eq!((names.text(a), names.text(b)), ("a", "b"));
        let (one, two) = (names.detail(&[(a, 1), (b, -2)]), names.detail(&[(a, 2)]));
        assert_eq!((names.detail(&[(a, 1), (b, -2)]), one == two), (one, false));
        assert_eq!(names.attributes(one).collect::<Vec<_>>(), [("a", 1), ("b", -2)]);
    }

    #[test]
    fn an_index_is_any_number_but_the_last() {
        assert_eq!([0, 7, u32::MAX - 1].map(|n| Index::new(n).map(Index::get)), [Some(0), Some(7), Some(u32::MAX - 1)]);
        assert_eq!(Index::new(u32::MAX), None);
        assert_eq!(size_of::<Option<Index>>(), 4);
    }
}
