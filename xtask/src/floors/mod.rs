//! The gate `floors`: in every crate, a module imports only from modules that are declared before it.
//!
//! The order of the `mod` lines, in `lib.rs` and in each `mod.rs`, is the order of the floors, lowest first. An import that goes up is
//! told with its own line, the line that declares the floor above, and the import that comes back, if there is one. A module and its own
//! children are one room: children may use what the file of their parent defines, unless it comes from a later child. What
//! stands under `#[cfg(test)]` is left out. Between crates the order is that of the workspace's members.

mod imports;
mod tree;

use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use imports::Import;
use std::path::Path;
use tree::{Module, Tree};

/// Looks at all crates of the workspace.
///
/// # Errors
/// When an import goes up, with every one that does; when a source cannot be read or is no Rust.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut upward = crates(workspace)?;
    let mut modules = 0;
    for (_, root) in workspace.libraries() {
        let tree = Tree::read(&root)?;
        modules += tree.modules.len();
        upward.extend(upward_imports(&tree, &workspace.root));
    }
    if upward.is_empty() {
        println!("{modules} modules import downward only");
        return Ok(());
    }
    bail!("{}\n{} imports go up", upward.join("\n"), upward.len())
}

/// Crates that depend on one that the workspace lists after them.
fn crates(workspace: &Workspace) -> Result<Vec<String>> {
    let path = workspace.root.join("Cargo.toml");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let document: toml::Table = text.parse().with_context(|| path.display().to_string())?;
    let members = document["workspace"]["members"].as_array().cloned().unwrap_or_default();
    let members: Vec<&str> = members.iter().filter_map(|member| member.as_str()).collect();
    let place = |folder: &str| members.iter().position(|member| *member == folder);
    let line = |member: usize| {
        text.lines().position(|line| line.contains(&format!("\"{}\"", members[member]))).unwrap_or(0) + 1
    };
    let mut upward = Vec::new();
    for (package, dependencies) in workspace.dependencies() {
        let Some(own) = place(&package) else { continue };
        for above in dependencies.iter().filter_map(|other| place(other)).filter(|&other| other >= own) {
            upward.push(format!(
                "{package}/Cargo.toml depends on {}, which Cargo.toml:{} lists after it",
                members[above],
                line(above)
            ));
        }
    }
    Ok(upward)
}

/// The imports of a crate that go up, told for people; paths are told from `root` on.
fn upward_imports(tree: &Tree, root: &Path) -> Vec<String> {
    let mut upward = Vec::new();
    for module in &tree.modules {
        for import in &module.imports {
            let Some((own, other)) = tree.floors(module, import) else { continue };
            if other.place < own.place {
                continue;
            }
            let shown = |file: &Path| file.strip_prefix(root).unwrap_or(file).display().to_string();
            let mut line = format!(
                "{}:{}: `{}` imports from `{}`, which {}:{} declares after `{}` (line {})",
                shown(&module.file),
                import.line,
                module.name(),
                other.name(),
                shown(&other.declared.0),
                other.declared.1,
                own.path.last().map_or("", String::as_str),
                own.declared.1,
            );
            if let Some((from, back)) = import_back(tree, own, other) {
                line += &format!("; and {}:{} imports back", shown(&from.file), back.line);
            }
            if upward.last() != Some(&line) {
                upward.push(line);
            }
        }
    }
    upward
}

/// Some import of `other`, or of a module in it, from `own`, or a module in it.
fn import_back<'t>(tree: &'t Tree, own: &Module, other: &Module) -> Option<(&'t Module, &'t Import)> {
    let inside = |module: &&Module| module.path.starts_with(&other.path);
    tree.modules.iter().filter(inside).find_map(|module| {
        let back = |import: &&Import| tree.resolve(&import.path).is_some_and(|found| found.path.starts_with(&own.path));
        Some((module, module.imports.iter().find(back)?))
    })
}

#[cfg(test)]
mod tests;
