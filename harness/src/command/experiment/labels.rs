//! What methods, algorithms and data sets of a manifest are called in tables and pictures: no two labels of a kind are equal.

use super::manifest::{FrozenMethod, Manifest};
use crate::drawing::svg::shortened;
use std::collections::BTreeMap;

/// Labels by place in the manifest.
pub(crate) struct Labels {
    /// `multi_cpu_baseline x2`, and what tells it from others of that name.
    pub(crate) methods: Vec<String>,
    /// `kcore (k = 5)`.
    pub(crate) algorithms: Vec<String>,
    /// Of methods that differ in their ranks only, one label for all: that of their series in a plot by ranks.
    pub(crate) families: Vec<String>,
}

impl Labels {
    /// Of a manifest, in which no method and no algorithm stands twice.
    pub(crate) fn of(manifest: &Manifest) -> Labels {
        Labels {
            methods: methods(&manifest.methods),
            algorithms: manifest.algorithms.iter().map(|one| algorithm(&one.name, &one.args)).collect(),
            families: families(&manifest.methods),
        }
    }
}

fn algorithm(name: &str, args: &serde_json::Map<String, serde_json::Value>) -> String {
    let args: Vec<_> =
        args.iter().map(|(key, value)| format!("{key} = {}", value.to_string().trim_matches('"'))).collect();
    if args.is_empty() { name.to_owned() } else { format!("{name} ({})", args.join(", ")) }
}

/// Name and ranks; where several methods share them, also each option in which they differ.
fn methods(methods: &[FrozenMethod]) -> Vec<String> {
    let base = |method: &FrozenMethod| {
        if method.ranks > 1 { format!("{} x{}", method.name, method.ranks) } else { method.name.clone() }
    };
    let options: Vec<BTreeMap<String, String>> = methods.iter().map(options).collect();
    let label = |(place, method): (usize, &FrozenMethod)| {
        let base_of = base(method);
        let others = || (0..methods.len()).filter(|&other| other != place && base(&methods[other]) == base_of);
        let names = options.iter().flat_map(BTreeMap::keys).collect::<std::collections::BTreeSet<_>>();
        let differing = names
            .into_iter()
            .filter(|name| others().any(|other| options[other].get(*name) != options[place].get(*name)));
        let told: Vec<String> = differing
            .map(|name| match options[place].get(name) {
                Some(value) if value.is_empty() => name.clone(),
                Some(value) => format!("{name} {value}"),
                None => format!("{name} default"),
            })
            .collect();
        if told.is_empty() { base_of } else { format!("{base_of}, {}", told.join(", ")) }
    };
    methods.iter().enumerate().map(label).collect()
}

/// As [`methods`], without the ranks.
fn families(all: &[FrozenMethod]) -> Vec<String> {
    methods(&all.iter().map(|method| FrozenMethod { ranks: 1, ..method.clone() }).collect::<Vec<_>>())
}

/// The options of a method by name, those that its name and ranks say left out.
fn options(method: &FrozenMethod) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut words = method.argv.iter().peekable();
    while let Some(word) = words.next() {
        let is_option = |word: &String| word.starts_with('-') && word.parse::<f64>().is_err();
        let value = words.next_if(|next| !is_option(next)).cloned().unwrap_or_default();
        let name = word.trim_start_matches('-');
        if !["method", "ranks"].contains(&name) {
            found.insert(name.to_owned(), value);
        }
    }
    found
}

/// Labels of at most so many characters, still no two equal: those that would be are numbered.
pub(crate) fn fitted(labels: &[String], most: usize) -> Vec<String> {
    let short: Vec<String> = labels.iter().map(|label| shortened(label, most)).collect();
    let is_shared = |place: usize| short.iter().filter(|other| **other == short[place]).count() > 1;
    (0..labels.len())
        .map(|place| {
            if labels[place] == short[place] || !is_shared(place) {
                return short[place].clone();
            }
            let number = format!("{}: ", place + 1);
            shortened(&format!("{number}{}", shortened(&labels[place], most.saturating_sub(number.len()))), most)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(name: &str, ranks: u32, words: &str) -> FrozenMethod {
        let argv = format!("--method {name} --ranks {ranks} {words}");
        FrozenMethod {
            name: name.into(),
            ranks,
            threads: None,
            protection: serde_json::Map::new(),
            argv: argv.split_whitespace().map(str::to_owned).collect(),
        }
    }

    #[test]
    fn a_label_says_what_tells_a_method_from_its_like_and_no_more() {
        let found = methods(&[
            method("single_cpu_baseline", 1, "--threads 2"),
            method("multi_cpu_baseline", 2, "--threads 1"),
            method("multi_cpu_baseline", 4, "--threads 1"),
            method("multi_cpu_fault_tolerant", 2, "--threads 1 -t 0.5"),
            method("multi_cpu_fault_tolerant", 2, "--threads 1 -a 0.25 -t 0.9"),
            method("multi_cpu_fault_tolerant", 2, "-t -1 --certify off"),
        ]);
        assert_eq!(
            found,
            [
                "single_cpu_baseline",
                "multi_cpu_baseline x2",
                "multi_cpu_baseline x4",
                "multi_cpu_fault_tolerant x2, a default, certify default, t 0.5, threads 1",
                "multi_cpu_fault_tolerant x2, a 0.25, certify default, t 0.9, threads 1",
                "multi_cpu_fault_tolerant x2, a default, certify off, t -1, threads default",
            ]
        );
    }

    #[test]
    fn labels_that_are_shortened_stay_different() {
        let labels: Vec<String> = (0..12).map(|place| format!("{}{place}{}", "a".repeat(40), "z".repeat(40))).collect();
        let short = fitted(&labels, 20);
        let distinct: std::collections::BTreeSet<_> = short.iter().collect();
        assert_eq!(distinct.len(), 12, "{short:?}");
        assert!(short.iter().all(|label| label.chars().count() <= 20), "{short:?}");
        assert_eq!(fitted(&["one".into(), "two".into()], 20), ["one", "two"]);
    }
}
