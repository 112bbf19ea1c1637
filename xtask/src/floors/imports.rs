//! What a file imports: `use` items, paths in code and types, and paths in the tokens of macros, each with its line.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::HashMap;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

/// A path inside the crate, from its root on.
pub(super) struct Import {
    pub(super) path: Vec<String>,
    pub(super) line: usize,
}

/// Whether something is compiled for tests only.
pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg_test = || attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test");
        attribute.path().is_ident("test") || attribute.path().is_ident("cfg") && is_cfg_test()
    })
}

/// The imports of a file, and the names that it hands on with where they come from.
pub(super) fn of(source: &syn::File, module: &[String]) -> (Vec<Import>, HashMap<String, Vec<String>>) {
    let mut reader = Reader { module: module.to_vec(), inner: 0, imports: Vec::new(), handed_on: HashMap::new() };
    reader.visit_file(source);
    (reader.imports, reader.handed_on)
}

struct Reader {
    /// The module that is read, with those written inside the file.
    module: Vec<String>,
    /// How many of them are written inside the file.
    inner: usize,
    imports: Vec<Import>,
    handed_on: HashMap<String, Vec<String>>,
}

impl Reader {
    /// A path from the crate's root on, if it is one of this crate.
    fn absolute(&self, names: &[String]) -> Option<Vec<String>> {
        let mut from = match names.first()?.as_str() {
            "crate" => Vec::new(),
            "self" | "super" => self.module.clone(),
            _ => return None,
        };
        let ups = names.iter().take_while(|name| *name == "super").count();
        from.truncate(from.len().checked_sub(ups)?);
        from.extend(names[ups.max(1)..].iter().filter(|name| *name != "self").cloned());
        Some(from)
    }

    fn add(&mut self, names: &[String], line: usize) {
        self.imports.extend(self.absolute(names).map(|path| Import { path, line }));
    }

    fn take_use(&mut self, tree: &UseTree, before: &mut Vec<String>, is_handed_on: bool) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.take_use(&path.tree, before, is_handed_on);
                before.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.take_use(tree, before, is_handed_on)),
            UseTree::Name(syn::UseName { ident }) | UseTree::Rename(syn::UseRename { ident, .. }) => {
                let mut names = before.clone();
                names.push(ident.to_string());
                let shown = match tree {
                    UseTree::Rename(rename) => rename.rename.to_string(),
                    _ => ident.to_string(),
                };
                self.add(&names, tree.span().start().line);
                if is_handed_on && self.inner == 0 {
                    // `pub use child::Name` in a module's own file.
                    let from = self.absolute(&names);
                    let from = from.unwrap_or_else(|| self.module.iter().cloned().chain(names).collect());
                    self.handed_on.insert(shown, from);
                }
            }
            UseTree::Glob(_) => self.add(before, tree.span().start().line),
        }
    }

    fn take_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let word = |at: usize| match tokens.get(at) {
            Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
            _ => None,
        };
        let is_colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
        let mut at = 0;
        while at < tokens.len() {
            if let TokenTree::Group(group) = &tokens[at] {
                self.take_tokens(group.stream());
            }
            let (mut names, line) = (Vec::new(), tokens[at].span().start().line);
            while let Some(name) = word(at) {
                names.push(name);
                if !(is_colon(at + 1) && is_colon(at + 2)) {
                    break;
                }
                at += 3;
            }
            self.add(&names, line);
            at += 1;
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Const(item) => &item.attrs,
            Item::Enum(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Macro(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Static(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Trait(item) => &item.attrs,
            Item::Type(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.module.push(module.ident.to_string());
        self.inner += 1;
        visit::visit_item_mod(self, module);
        self.inner -= 1;
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_handed_on = !matches!(item.vis, syn::Visibility::Inherited);
        self.take_use(&item.tree, &mut Vec::new(), is_handed_on);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.add(&names, path.span().start().line);
        visit::visit_path(self, path);
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        self.take_tokens(invocation.tokens.clone());
        visit::visit_macro(self, invocation);
    }
}
