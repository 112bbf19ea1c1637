//! A visitor is told what stands in a JSON document, in order, and says where damaged elements may be left out.

use super::text::Text;

/// Is told what stands in a document, in order.
pub(crate) trait Visitor {
    /// An object or an array begins.
    fn open(&mut self, is_object: bool);
    /// The innermost object or array ends.
    fn close(&mut self);
    /// A key of the innermost object; its value follows.
    fn key(&mut self, key: Text<'_>);
    /// A string as a value.
    fn string(&mut self, value: Text<'_>);
    /// A number, `true`, `false` or `null`, as it stands in the document.
    fn scalar(&mut self, raw: &[u8]);

    /// How many objects and arrays lie around the list of which damaged elements may be left out; none outside such a list.
    fn list_depth(&self) -> Option<usize>;
    /// Forgets the element that was being told.
    fn abandon(&mut self);
    /// Whether a document that ends here would be of use.
    fn is_usable(&self) -> bool;
}
