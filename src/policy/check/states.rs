//! `states`: what the file wants to be audited in, each by its name or with parameters.

use std::collections::BTreeMap;
use std::time::Duration;

use super::uses::Draft;
use super::{Check, listed};
use crate::policy::yaml::{Key, Node, Value};
use crate::policy::{Backend, StateChoice, Use};
use crate::words::{By, Parameter, Span, State, declared};

/// The parameter of every state that a proxy brings about: the use whose keys alone are in it.
const SCOPE: &str = "scope";

/// The longest that a duration can be: a call waits for it, and a run for its calls.
const LONGEST: Duration = Duration::from_secs(10);

/// The most that a count can be.
const MOST: u64 = 1_000_000;

impl Check {
    /// A list of names, and of names with parameters.
    pub(super) fn states(&mut self, node: &Node, drafts: &[Draft]) -> Vec<StateChoice> {
        let Some(list) = self.list(node, "`states`") else { return Vec::new() };
        if list.is_empty() {
            let help = "such as `states: [paused, stopped]`, or leave the field out for the default ones";
            self.wrong(node.at, "`states` is empty", Some(help.to_owned()));
        }
        let mut choices: Vec<StateChoice> = Vec::new();
        for node in list {
            let Some(choice) = self.state(node, drafts) else { continue };
            if choices.iter().any(|other| other.state == choice.state) {
                let help = "a state is audited once a run: keep one of the two".to_owned();
                self.wrong(choice.at, format!("the state `{}` stands twice", choice.state), Some(help));
            }
            choices.push(choice);
        }
        choices
    }

    fn state(&mut self, node: &Node, drafts: &[Draft]) -> Option<StateChoice> {
        match &node.value {
            Value::Text(name) => {
                let state = self.state_name(name, node.at)?;
                Some(StateChoice { state, parameters: BTreeMap::new(), scope: None, at: node.at })
            }
            Value::Map(entries) => match entries.as_slice() {
                [(key, value)] => self.state_with(key, value, drafts),
                _ => {
                    let help = "write `- {slow: {latency: 200ms}}`: one state with its parameters".to_owned();
                    self.wrong(node.at, "a state is one name", Some(help));
                    None
                }
            },
            other => {
                self.wrong_type(node.at, "a state", "its name, or its name with parameters", other);
                None
            }
        }
    }

    fn state_with(&mut self, key: &Key, node: &Node, drafts: &[Draft]) -> Option<StateChoice> {
        let state = self.state_name(&key.text, key.at)?;
        let what = format!("the state `{state}`");
        let map = self.map(node, &what)?;
        let takes = state.facts().takes;
        let scoped = state.facts().by == By::Proxy;
        let known: Vec<&str> = takes.iter().map(|known| known.name).chain(scoped.then_some(SCOPE)).collect();
        let mut help = match known.as_slice() {
            [] => format!("`{state}` takes no parameters: write its name alone"),
            known => format!("its fields are {}", listed(known.iter().copied())),
        };
        if !scoped {
            let through_proxy = State::ALL.iter().filter(|state| state.facts().by == By::Proxy);
            let names = listed(through_proxy.map(|state| state.name()));
            help.push_str(&format!("; only states that a proxy brings about take `{SCOPE}`: {names}"));
        }
        self.only_or(&map, &what, &known, &help);
        let mut parameters = BTreeMap::new();
        for known in takes {
            let Some(node) = map.get(known.name) else { continue };
            let named = format!("`{}` of `{state}`", known.name);
            let given = match known.default {
                Parameter::Duration(_) => self.bounded(node, &named).map(Parameter::Duration),
                Parameter::Count(_) => self.count(node, &named, MOST).map(Parameter::Count),
            };
            parameters.extend(given.map(|given| (known.name, given)));
        }
        let scope = map.get(SCOPE).filter(|_| scoped).and_then(|node| self.scope(node, drafts));
        let mut choice = StateChoice { state, parameters, scope, at: key.at };
        let understood = |name: &str| map.get(name).is_none() || choice.parameters.contains_key(name);
        if takes.iter().all(|known| understood(known.name)) {
            let latency = choice.duration("latency");
            match map.get("jitter") {
                Some(node) => self.jitter_within_latency(&choice, node),
                // What is left out gives way.
                None if choice.duration("jitter") > latency => {
                    choice.parameters.insert("jitter", Parameter::Duration(latency));
                }
                None => {}
            }
        }
        Some(choice)
    }

    fn bounded(&mut self, node: &Node, what: &str) -> Option<Duration> {
        let given = self.duration_or_zero(node, what)?;
        if given > LONGEST {
            let help = format!(
                "write at most `{}`: a longer one tells no more, and each call waits for it",
                humantime::format_duration(LONGEST)
            );
            self.wrong(node.at, format!("{what} is above {}", declared(LONGEST)), Some(help));
            return None;
        }
        Some(given)
    }

    /// A round trip can't be earlier than at once.
    fn jitter_within_latency(&mut self, choice: &StateChoice, node: &Node) {
        let (latency, jitter) = (choice.duration("latency"), choice.duration("jitter"));
        if jitter <= latency {
            return;
        }
        let message = format!(
            "`jitter` of `{}` is {}, above its `latency` of {}",
            choice.state,
            declared(jitter),
            declared(latency)
        );
        self.wrong(
            node.at,
            message,
            Some("write a `jitter` of at most the `latency`, such as `jitter: 0ms`".to_owned()),
        );
    }

    fn state_name(&mut self, name: &str, at: Span) -> Option<State> {
        let state = State::from_name(name);
        if state.is_none() {
            self.unknown_state(name, at);
        }
        state
    }

    fn scope(&mut self, node: &Node, drafts: &[Draft]) -> Option<usize> {
        let name = self.text(node, "`scope`")?;
        let names = || drafts.iter().filter_map(|draft| draft.name.as_ref().map(|(name, _)| name.as_str()));
        let index =
            drafts.iter().position(|draft| draft.name.as_ref().is_some_and(|(known, _)| *known == name));
        if index.is_none() {
            let help = format!("the uses are {}", listed(names()));
            self.unknown(node.at, format!("there is no use `{name}`"), &name, names(), Some(help));
        }
        let in_memory = |used: &Use| used.backend == Backend::InMemory;
        if index.and_then(|index| drafts[index].built.as_ref()).is_some_and(in_memory) {
            let help = "name a use that asks Redis".to_owned();
            self.wrong(node.at, format!("`{name}` is in memory: no state befalls it"), Some(help));
        }
        index
    }
}
