//! The modules of a crate, as `mod` lines declare them, and which of them a path leads to.

use super::imports::{Import, is_for_tests, of};
use anyhow::{Context, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;

/// One module with a file of its own.
pub(super) struct Module {
    /// From the crate's root on, which is empty.
    pub(super) path: Vec<String>,
    pub(super) file: PathBuf,
    /// The file and line of its `mod`.
    pub(super) declared: (PathBuf, usize),
    /// Its place among its parent's modules, from 0.
    pub(super) place: usize,
    pub(super) imports: Vec<Import>,
    /// Names that it hands on, and where they come from.
    handed_on: HashMap<String, Vec<String>>,
}

impl Module {
    /// As Rust writes it.
    pub(super) fn name(&self) -> String {
        if self.path.is_empty() { "the crate's root".into() } else { self.path.join("::") }
    }
}

/// All modules of a crate.
pub(super) struct Tree {
    pub(super) modules: Vec<Module>,
    places: HashMap<Vec<String>, usize>,
}

impl Tree {
    /// Reads a crate from its root file on.
    ///
    /// # Errors
    /// When a file is missing or no Rust.
    pub(super) fn read(root: &Path) -> Result<Tree> {
        let mut tree = Tree { modules: Vec::new(), places: HashMap::new() };
        tree.add(Vec::new(), root, (root.to_owned(), 1), 0)?;
        Ok(tree)
    }

    fn add(&mut self, path: Vec<String>, file: &Path, declared: (PathBuf, usize), place: usize) -> Result<()> {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let source = syn::parse_file(&text).with_context(|| format!("{} is no Rust", file.display()))?;
        let (imports, handed_on) = of(&source, &path);
        self.places.insert(path.clone(), self.modules.len());
        self.modules.push(Module { path: path.clone(), file: file.to_owned(), declared, place, imports, handed_on });
        let children = source.items.iter().filter_map(|item| match item {
            syn::Item::Mod(module) if module.content.is_none() && !is_for_tests(&module.attrs) => Some(module),
            _ => None,
        });
        for (place, child) in children.enumerate() {
            let name = child.ident.to_string();
            let found = file_of(file, &name).with_context(|| format!("{} declares `mod {name}`", file.display()))?;
            let mut path = path.clone();
            path.push(name);
            self.add(path, &found, (file.to_owned(), child.span().start().line), place)?;
        }
        Ok(())
    }

    /// The module in which the end of a path is defined, as far as files tell.
    pub(super) fn resolve(&self, path: &[String]) -> Option<&Module> {
        let mut path = path.to_vec();
        // A name can be handed on a few times; more is a circle of `pub use`.
        for _ in 0..8 {
            let known = (0..=path.len()).rev().find(|&len| self.places.contains_key(&path[..len]))?;
            let module = &self.modules[self.places[&path[..known]]];
            match path.get(known).and_then(|name| module.handed_on.get(name)) {
                Some(from) => path = from.iter().chain(&path[known + 1..]).cloned().collect(),
                None => return Some(module),
            }
        }
        None
    }

    /// The two sisters whose order decides about an import: the floor it comes from and the one it leads to. `None` where both are one
    /// room, a module with its own children.
    pub(super) fn floors(&self, module: &Module, import: &Import) -> Option<(&Module, &Module)> {
        let found = self.resolve(&import.path)?;
        let shared = module.path.iter().zip(&found.path).take_while(|(a, b)| a == b).count();
        if shared == module.path.len() || shared == found.path.len() {
            return None;
        }
        let at = |path: &[String]| &self.modules[self.places[&path[..=shared]]];
        Some((at(&module.path), at(&found.path)))
    }
}

/// Where the module `name` lies that `file` declares.
fn file_of(file: &Path, name: &str) -> Result<PathBuf> {
    let stem = file.file_stem().unwrap_or_default();
    let folder = file.parent().context("a file lies in a folder")?;
    let own =
        if ["lib", "main", "mod"].iter().any(|root| stem == *root) { folder.to_owned() } else { folder.join(stem) };
    let candidates = [own.join(format!("{name}.rs")), own.join(name).join("mod.rs")];
    candidates.into_iter().find(|path| path.is_file()).with_context(|| format!("no file for `{name}`"))
}
