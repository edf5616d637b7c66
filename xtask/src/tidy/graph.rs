//! Packages and what they depend on, from `cargo metadata`.

use std::collections::BTreeSet;
use std::path::Path;

use cargo_metadata::{CargoOpt, DependencyKind, MetadataCommand};

use super::Tree;
use crate::cargo::Outcome;

/// A package of the workspace, or one that it is built from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Whether it is of this workspace.
    pub(crate) member: bool,
    /// What its manifest names.
    pub(crate) declared: Vec<Dependency>,
    /// The packages that it is linked with or built by, all features on; development dependencies left out.
    pub(crate) resolved: Vec<String>,
    /// Its features, each with what it turns on.
    pub(crate) features: Vec<(String, Vec<String>)>,
}

/// A dependency as a manifest names it.
#[derive(Debug, Clone)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) optional: bool,
    pub(crate) features: Vec<String>,
}

/// What a dependency is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// For the package itself, or for building it.
    Shipped,
    /// For its tests and benchmarks.
    Development,
}

/// Asks cargo, with every feature on, so that what a feature brings in is seen too.
pub(crate) fn read(root: &Path) -> Outcome<Vec<Package>> {
    let metadata = MetadataCommand::new()
        .current_dir(root)
        .features(CargoOpt::AllFeatures)
        .other_options(["--locked".to_owned()])
        .exec()?;
    let resolve = metadata.resolve.as_ref().ok_or("cargo metadata resolved no dependencies")?;
    let packages = metadata.packages.iter().map(|package| {
        let node = resolve.nodes.iter().find(|node| node.id == package.id);
        let linked = node.into_iter().flat_map(|node| &node.deps).filter(|dependency| {
            dependency.dep_kinds.iter().any(|info| info.kind != DependencyKind::Development)
        });
        Package {
            name: package.name.to_string(),
            member: metadata.workspace_members.contains(&package.id),
            declared: package.dependencies.iter().map(declared).collect(),
            resolved: linked.map(|dependency| metadata[&dependency.pkg].name.to_string()).collect(),
            features: package.features.iter().map(|(name, on)| (name.clone(), on.clone())).collect(),
        }
    });
    Ok(packages.collect())
}

fn declared(dependency: &cargo_metadata::Dependency) -> Dependency {
    let kind = if dependency.kind == DependencyKind::Development { Kind::Development } else { Kind::Shipped };
    Dependency {
        name: dependency.name.clone(),
        kind,
        optional: dependency.optional,
        features: dependency.features.clone(),
    }
}

impl Tree {
    /// Returns the workspace's package of that name.
    pub(crate) fn member(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.member && package.name == name)
    }

    /// Returns everything that `name` is linked with or built by, directly or not, `name` itself not counted.
    ///
    /// Versions of one package are taken together.
    pub(crate) fn closure<'a>(&'a self, name: &str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![name.to_owned()];
        while let Some(next) = open.pop() {
            for package in self.packages.iter().filter(|package| package.name == next) {
                let new = package.resolved.iter().filter(|found| reached.insert(found.as_str()));
                open.extend(new.cloned());
            }
        }
        reached
    }
}
