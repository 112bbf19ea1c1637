//! Pictures and the pages that show them.

pub(crate) mod svg;
pub(crate) mod page;
