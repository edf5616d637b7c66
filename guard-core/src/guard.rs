//! One target and one policy.

use std::sync::Arc;

use guard_policy::{Access, Fact, Policy, Rights, RootEntry, Roots, TargetPath, Within};

use crate::port::{AuditSink, FileOps, OpError, RootSpec, UndoStore};
use crate::toolbox::Definitions;
use crate::unsettled::Unsettled;
use crate::{Actor, Approver, Toolbox};

/// A guarded target: one [`FileOps`], one [`Policy`], the roots that were opened.
///
/// It is cheap to clone; what was seen belongs to the [`Actor`]s.
#[derive(Clone)]
pub struct Guard {
    state: Arc<GuardState>,
}

/// What all actors of a guard share.
pub(crate) struct GuardState {
    pub(crate) ops: Arc<dyn FileOps>,
    pub(crate) policy: Policy,
    pub(crate) roots: Arc<Roots>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) audit: Option<Arc<dyn AuditSink>>,
    pub(crate) undo: Option<Arc<dyn UndoStore>>,
    /// Where that store is, if it is among the files of the target and no root may hold it.
    pub(crate) undo_at: Option<TargetPath>,
    pub(crate) environment: Option<String>,
    pub(crate) unsettled: Unsettled,
    pub(crate) tools: Definitions,
}

/// A guard that could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No root was given; the first root is the base of relative paths.
    #[error("a guard needs a root")]
    NoRoot,
    /// A root could not be opened.
    #[error("the root {path} cannot be opened: {error}")]
    Root {
        /// The root as it was given.
        path: TargetPath,
        /// Why.
        error: OpError,
    },
    /// The store of old bytes, or the audit log, does not say where it is by an absolute and normal path.
    #[error("what the guard itself keeps is at {place:?}, which is no absolute and normal path")]
    Place {
        /// What it says.
        place: String,
    },
    /// The store of old bytes is in a root, where whatever works there could change it, or a root is in it.
    #[error("the store of old bytes, {place}, is in a root, or a root is in it")]
    UndoInRoot {
        /// Where the store is.
        place: String,
    },
    /// The policy names a root that has no meaning on the target.
    #[error("the root {path:?} of the policy: {why}")]
    Configured {
        /// The root as it is in the policy.
        path: String,
        /// Why.
        why: String,
    },
}

/// Collects what a guard is made of.
pub struct GuardBuilder {
    ops: Arc<dyn FileOps>,
    policy: Policy,
    roots: Vec<(TargetPath, Access)>,
    approver: Option<Arc<dyn Approver>>,
    audit: Option<Arc<dyn AuditSink>>,
    undo: Option<Arc<dyn UndoStore>>,
    environment: Option<String>,
}

impl GuardBuilder {
    /// Sets the policy; the default has every rule on.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Adds a root; the first is the base of relative paths, and the most specific one that holds a path says what
    /// may be done there. Those of the policy come after these.
    #[must_use]
    pub fn root(mut self, path: TargetPath, access: Access) -> Self {
        self.roots.push((path, access));
        self
    }

    /// Sets who is asked before a change is made.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Sets who takes the audit records.
    #[must_use]
    pub fn audit(mut self, audit: Arc<dyn AuditSink>) -> Self {
        self.audit = Some(audit);
        self
    }

    /// Sets where the bytes are kept that calls displace, so that [`Actor::undo`] can put them back. They come back with
    /// the answer of the target, up to the size that the store takes.
    #[must_use]
    pub fn undo(mut self, store: Arc<dyn UndoStore>) -> Self {
        self.undo = Some(store);
        self
    }

    /// Names this environment, as patches may (`*** Environment ID:`). A patch that names another, or any where none is
    /// set, is refused.
    #[must_use]
    pub fn environment(mut self, id: impl Into<String>) -> Self {
        self.environment = Some(id.into());
        self
    }

    /// Opens the roots on the target.
    ///
    /// # Errors
    ///
    /// [`OpenError`] where there is no root, or one of them or of the policy's is no directory on the target.
    pub async fn open(mut self) -> Result<Guard, OpenError> {
        if self.roots.is_empty() && self.policy.roots.is_empty() {
            return Err(OpenError::NoRoot);
        }
        self.roots.extend(configured(&self.policy, &self.ops.capabilities().home)?);
        if !self.policy.restrict {
            // Without containment the whole target is a root; the receipts say so.
            self.roots.push((TargetPath::root(), Access::ReadWrite));
        }
        let mut entries = Vec::with_capacity(self.roots.len());
        for (path, access) in self.roots {
            let root = self
                .ops
                .open_root(&RootSpec { path: path.clone() })
                .await
                .map_err(|error| OpenError::Root { path: path.clone(), error })?;
            let aliases = if root.path == path { Vec::new() } else { vec![path] };
            entries.push(RootEntry { id: root.id, physical: root.path, aliases, access });
        }
        let roots = Arc::new(Roots::new(entries));
        let mut undo_at = None;
        if self.ops.is_of_this_machine() {
            // What the guard itself keeps is on the machine of its target.
            let undo = self.undo.as_ref().and_then(|store| store.place());
            let audit = self.audit.as_ref().and_then(|sink| sink.place());
            for place in undo.into_iter().chain(audit) {
                // A place that is no path would silently protect nothing.
                let path =
                    TargetPath::new(place).map_err(|_| OpenError::Place { place: place.to_owned() })?;
                if Some(place) == undo && self.policy.restrict {
                    if roots.entries().iter().any(|root| is_one_in_the_other(&path, &root.physical)) {
                        return Err(OpenError::UndoInRoot { place: place.to_owned() });
                    }
                    undo_at = Some(path);
                }
                self.policy.sensitive.push(place.to_owned());
            }
        }
        let tools = Definitions::of(&self.policy);
        Ok(Guard {
            state: Arc::new(GuardState {
                tools,
                ops: self.ops,
                policy: self.policy,
                roots,
                approver: self.approver,
                audit: self.audit,
                undo: self.undo,
                undo_at,
                environment: self.environment,
                unsettled: Unsettled::default(),
            }),
        })
    }
}

/// Tells whether one of two directories holds the other, or is it.
pub(crate) fn is_one_in_the_other(one: &TargetPath, other: &TargetPath) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Returns the policy's roots and what it allows beside them, as paths of the target.
fn configured(
    policy: &Policy,
    home: &Fact<Option<TargetPath>>,
) -> Result<Vec<(TargetPath, Access)>, OpenError> {
    let roots = policy.roots.iter().map(|path| (path, Access::ReadWrite));
    let allowed = policy.allow.iter().map(|allowed| (&allowed.path, allowed.access));
    let on_target = |(path, access): (&String, Access)| {
        let wrong = |why: String| OpenError::Configured { path: path.clone(), why };
        let absolute = match (path.strip_prefix('~'), home) {
            (None, _) => path.clone(),
            (Some(""), Fact::Known(Some(home))) => home.to_string(),
            (Some(below), Fact::Known(Some(home))) => {
                format!("{}{below}", home.as_str().trim_end_matches('/'))
            }
            (Some(_), _) => return Err(wrong("the home of the target's user is not known".to_owned())),
        };
        Ok((TargetPath::new(absolute).map_err(|error| wrong(error.to_string()))?, access))
    };
    roots.chain(allowed).map(on_target).collect()
}

impl Guard {
    /// Starts a guard of `ops`.
    pub fn builder(ops: Arc<dyn FileOps>) -> GuardBuilder {
        GuardBuilder {
            ops,
            policy: Policy::default(),
            roots: Vec::new(),
            approver: None,
            audit: None,
            undo: None,
            environment: None,
        }
    }

    /// Makes an actor that has seen nothing and may do all that the policy allows.
    pub fn actor(&self, name: impl Into<String>) -> Actor {
        self.actor_with(name, Rights::default())
    }

    /// Makes an actor that has seen nothing, with less than all rights.
    pub fn actor_with(&self, name: impl Into<String>, rights: Rights) -> Actor {
        Actor::new(Arc::clone(&self.state), name.into(), rights)
    }

    /// Returns the tools by name, which are the same for every actor.
    #[must_use]
    pub fn toolbox(&self) -> Toolbox {
        Toolbox::new(Arc::clone(&self.state))
    }

    /// Returns the roots that were opened.
    #[must_use]
    pub fn roots(&self) -> &Roots {
        &self.state.roots
    }

    /// Returns the policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.state.policy
    }

    /// Returns the target.
    #[must_use]
    pub fn target(&self) -> &dyn FileOps {
        &*self.state.ops
    }
}

impl GuardState {
    /// Returns what the policy and the roots leave, as restrictions for an actor that calls tools of another guard.
    pub(crate) fn as_rights(&self) -> Rights {
        let roots = self.roots.entries().iter().map(|root| (root.physical.clone(), root.access));
        Rights {
            access: if self.policy.read_only { Access::ReadOnly } else { Access::ReadWrite },
            disabled: self.policy.disabled_tools.iter().copied().collect(),
            within: vec![Within::new(roots)],
        }
    }

    /// Returns who is asked before a change is made.
    pub(crate) fn approvers(&self) -> Vec<Arc<dyn Approver>> {
        self.approver.iter().cloned().collect()
    }

    /// Returns the target's home directory, which the target itself reported.
    pub(crate) fn home(&self) -> Fact<Option<&TargetPath>> {
        match &self.ops.capabilities().home {
            Fact::Known(home) => Fact::Known(home.as_ref()),
            Fact::Unknown => Fact::Unknown,
        }
    }
}
