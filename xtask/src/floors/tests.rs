use super::*;
use std::fs;

/// The upward imports of a crate of these files.
fn upward(files: &[(&str, &str)]) -> Vec<String> {
    let folder = std::env::temp_dir().join(format!("floors-{}-{:?}", std::process::id(), std::thread::current().id()));
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("in the folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let tree = Tree::read(&folder.join("lib.rs")).expect("a crate");
    let upward = upward_imports(&tree, &folder);
    fs::remove_dir_all(&folder).expect("it is there");
    upward
}

#[test]
fn imports_from_below_are_sound() {
    let lib = "mod low;\nmod high;\n";
    assert_eq!(upward(&[("lib.rs", lib), ("low.rs", "pub struct A;"), ("high.rs", "use crate::low::A;")]), [""; 0]);
}

#[test]
fn an_import_that_goes_up_is_told_with_both_lines() {
    let lib = "mod low;\nmod high;\n";
    let found = upward(&[("lib.rs", lib), ("low.rs", "\nuse crate::high::B;"), ("high.rs", "use crate::low::A;")]);
    let told =
        "low.rs:2: `low` imports from `high`, which lib.rs:2 declares after `low` (line 1); and high.rs:1 imports back";
    assert_eq!(found, [told]);
}

#[test]
fn every_form_of_an_import_is_seen() {
    let forms = [
        "use crate::high::B;",
        "use crate::{high::{B, C}};",
        "use super::high::*;",
        "fn f() -> crate::high::B { todo() }",
        "fn f() { super::high::g() }",
        "fn f() { println!(\"{}\", crate::high::X) }",
        "macro_rules! m { () => { $crate::low::A; crate::high::B } }",
        "impl crate::high::T for A {}",
        "mod inside { use super::super::high::B; }",
        "use crate::handed::B;",
    ];
    for form in forms {
        let lib = "mod low;\nmod high;\npub use high as handed;\n";
        assert_eq!(upward(&[("lib.rs", lib), ("low.rs", form), ("high.rs", "")]).len().min(1), 1, "{form}");
    }
}

#[test]
fn tests_may_import_from_anywhere() {
    let lib = "mod low;\nmod high;\n#[cfg(test)]\nmod tests;\n";
    let low = "#[cfg(test)]\nmod tests { use crate::high::B; }\n#[cfg(test)]\nuse crate::high::C;\n#[test]\nfn t() { crate::high::f() }";
    assert_eq!(
        upward(&[("lib.rs", lib), ("low.rs", low), ("high.rs", ""), ("tests.rs", "use crate::high::B;")]),
        [""; 0]
    );
}

#[test]
fn sisters_inside_a_room_have_an_order_too() {
    let files = [("lib.rs", "mod a;\n"), ("a/mod.rs", "mod x;\nmod y;\npub use y::Y;\n"), ("a/y.rs", "pub struct Y;")];
    let with = |x: &str| upward(&[files[0], files[1], files[2], ("a/x.rs", x)]);
    assert_eq!(with("use super::y::Y;").len(), 1);
    assert_eq!(with("use super::Y;").len(), 1, "handed on by the parent");
    assert_eq!(with("use super::Own;"), [""; 0], "what the parent's file defines");
}
