//! `uses`: what every use has, and the fields of its kind.

use super::budget::{Layer, UseBudget};
use super::client::ClientLayer;
use super::operations::{Names, PerOperation};
use super::{Check, Map, listed};
use crate::kinds::{Kind, Operation};
use crate::policy::yaml::{Node, Value};
use crate::policy::{Backend, Use, UseOperation};
use crate::words::{KnownFrom, OutagePolicy, Span};

/// The fields that a use of any kind may have.
pub(super) const FIELDS: [&str; 13] = [
    "name",
    "kind",
    "key",
    "operations",
    "on_outage",
    "where",
    "known_from",
    "because",
    "budget",
    "repeats_every",
    "backend",
    "client",
    "accepts",
];

/// What the file says for all its uses.
pub(super) struct FileLayer {
    pub(super) client: ClientLayer,
    pub(super) budget: Layer,
}

/// A use as far as it could be read: enough for requests to refer to it.
pub(super) struct Draft {
    pub(super) name: Option<(String, Span)>,
    /// Its operations; none where its kind is not known.
    pub(super) operations: Option<Vec<String>>,
    /// Whether it reaches Redis and no command timeout is in force.
    pub(super) lacks_timeout: bool,
    pub(super) built: Option<Use>,
}

impl Check {
    pub(super) fn use_(&mut self, node: &Node, file: &FileLayer) -> Draft {
        let mut draft = Draft { name: None, operations: None, lacks_timeout: false, built: None };
        let Some(map) = self.map(node, "a use") else { return draft };
        draft.name = self
            .required(&map, "a use", "name", "dataset-lock")
            .and_then(|node| self.name(node, "the name of a use").map(|name| (name, node.at)));
        let what = draft.name.as_ref().map_or("a use".to_owned(), |(name, _)| format!("the use `{name}`"));
        let backend = map
            .get("backend")
            .map_or(Some(Backend::Redis), |node| self.word(node, "`backend`", Backend::ALL));
        let client = map.get("client").map(|node| self.client(node)).unwrap_or_default();
        draft.lacks_timeout = backend != Some(Backend::InMemory)
            && !client.has_command_timeout()
            && !file.client.has_command_timeout();
        let kind = self
            .required(&map, &what, "kind", "lock")
            .and_then(|node| self.word(node, "`kind`", Kind::ALL.map(|kind| (kind.name(), kind))));
        let Some(kind) = kind else {
            self.fields_of_any_kind(&map, &what);
            return draft;
        };
        self.fields_known(&map, &what, kind);

        let commands = self.commands(&map, &what, kind);
        let all: Vec<Operation> = match kind {
            Kind::Custom => commands,
            _ => kind.spec().operations.iter().map(Operation::BuiltIn).collect(),
        };
        let operations = self.chosen(&map, &what, &all);
        draft.operations = Some(operations.iter().map(|operation| operation.name().to_owned()).collect());

        let in_memory = backend == Some(Backend::InMemory);
        let fields = self.kind_fields(&map, &what, kind, in_memory);
        let names = Names::new(&operations, &all, what.clone());
        let at = draft.name.as_ref().map_or(map.at, |(_, at)| *at);
        let declared = self.declared(&map, &names, in_memory);
        let budget = map.get("budget").map(|node| self.use_budget(node, &names)).unwrap_or_default();
        let accepts = map.get("accepts").map(|node| self.accepts(node, &names)).unwrap_or_default();
        let repeats_every = map.get("repeats_every").and_then(|node| self.duration(node, "`repeats_every`"));
        let key = match map.get("key") {
            Some(node) => self.key(node, "`key`"),
            // Nothing is stored under it, or the commands bring their own keys.
            None if in_memory || kind == Kind::Custom => {
                draft.name.as_ref().and_then(|(name, at)| self.key_text(name, *at, "the name of a use"))
            }
            None => {
                self.required(&map, &what, "key", "\"my-use:${id}\"");
                None
            }
        };
        if let (Some(backend), Some(key), Some((name, at_name))) = (backend, key, draft.name.clone()) {
            draft.built = Some(Use {
                name,
                at: at_name,
                kind,
                key,
                fields,
                operations: operations
                    .iter()
                    .map(|operation| declared.of(operation, at, &budget, &file.budget))
                    .collect(),
                client: client.over(&file.client),
                backend,
                accepts,
                repeats_every,
            });
        }
        draft
    }

    /// The operations that the service has, in the order of the kind.
    fn chosen(&mut self, map: &Map<'_>, what: &str, all: &[Operation]) -> Vec<Operation> {
        let Some(node) = map.get("operations") else { return all.to_vec() };
        let Some(list) = self.list(node, "`operations`") else { return all.to_vec() };
        let names = Names::new(all, all, what.to_owned());
        let mut chosen = std::collections::HashSet::new();
        for node in list {
            match &node.value {
                Value::Text(text) if names.has(text) => {
                    if !chosen.insert(text.as_str()) {
                        let help = "name it once".to_owned();
                        self.wrong(node.at, format!("`operations` names `{text}` twice"), Some(help));
                    }
                }
                Value::Text(text) => self.unknown_operation(text, node.at, &names),
                other => self.wrong_type(node.at, "an operation", "its name", other),
            }
        }
        if list.is_empty() {
            let help = format!("leave it out for all of them: {}", listed(names.list()));
            self.wrong(node.at, "`operations` is empty", Some(help));
        }
        all.iter().filter(|operation| chosen.contains(operation.name())).cloned().collect()
    }

    /// What is declared for the operations.
    fn declared(&mut self, map: &Map<'_>, names: &Names<'_>, in_memory: bool) -> Declared {
        let policies = OutagePolicy::ALL.map(|policy| (policy.name(), policy));
        let on_outage = map
            .get("on_outage")
            .map(|node| {
                self.per_operation(node, names, |check, node| check.word(node, "`on_outage`", policies))
            })
            .unwrap_or_default();
        if in_memory {
            for name in ["on_outage", "client"] {
                if let Some((key, _)) = map.entry(name) {
                    let help = "it never reaches Redis: remove the field, or the `backend`".to_owned();
                    self.wrong(key.at, format!("a use in memory has no `{name}`"), Some(help));
                }
            }
        }
        self.admitted(&on_outage, names);
        let mut texts = |name: &str| {
            map.get(name)
                .map(|node| {
                    let what = format!("`{name}`");
                    self.per_operation(node, names, |check, node| check.text(node, &what))
                })
                .unwrap_or_default()
        };
        let (code, because) = (texts("where"), texts("because"));
        let sources = KnownFrom::ALL.map(|source| (source.name(), source));
        let known_from = map
            .get("known_from")
            .map(|node| {
                self.per_operation(node, names, |check, node| check.word(node, "`known_from`", sources))
            })
            .unwrap_or_default();
        Declared { on_outage, code, because, known_from }
    }

    /// Records each policy that makes no sense for its operation, once a place.
    fn admitted(&mut self, on_outage: &PerOperation<OutagePolicy>, names: &Names<'_>) {
        let mut refused: std::collections::BTreeMap<usize, (Span, OutagePolicy, Vec<&Operation>)> =
            std::collections::BTreeMap::new();
        for operation in names.operations {
            if let Some((policy, at)) = on_outage.of(operation.name())
                && !operation.admits(policy)
            {
                refused.entry(at.start).or_insert((at, policy, Vec::new())).2.push(operation);
            }
        }
        for (at, policy, operations) in refused.into_values() {
            let policy = policy.name();
            let these = listed(operations.iter().map(|operation| operation.name()));
            let admitted = OutagePolicy::ALL
                .into_iter()
                .filter(|policy| operations.iter().all(|operation| operation.admits(*policy)))
                .map(OutagePolicy::name);
            let help = format!("choose one of {}", listed(admitted));
            self.wrong(at, format!("`{policy}` makes no sense for {these}"), Some(help));
        }
    }
}

/// What is declared for the operations of a use, before it is laid out operation by operation.
struct Declared {
    on_outage: PerOperation<OutagePolicy>,
    code: PerOperation<String>,
    because: PerOperation<String>,
    known_from: PerOperation<KnownFrom>,
}

impl Declared {
    fn of(&self, operation: &Operation, use_at: Span, budget: &UseBudget, file: &Layer) -> UseOperation {
        let name = operation.name();
        let (on_outage, on_outage_at) = self.on_outage.of(name).unwrap_or((OutagePolicy::Undecided, use_at));
        UseOperation {
            operation: operation.clone(),
            on_outage,
            on_outage_at,
            budget: budget.of(name, file),
            code: self.code.of(name).map(|(text, _)| text),
            known_from: self.known_from.of(name).map_or(KnownFrom::Assumed, |(source, _)| source),
            because: self.because.of(name).map(|(text, _)| text),
        }
    }
}
