//! The server: how a throwaway one keeps its data, and how one that exists is stopped and started.

use std::time::Duration;

use super::{Check, Map};
use crate::policy::yaml::{Node, Value};
use crate::policy::{Hooks, Persistence};

/// How long a hook may take where the file does not say.
const WITHIN: Duration = Duration::from_secs(30);

/// What the file says of the server.
#[derive(Debug, Default)]
pub(super) struct Server {
    pub(super) persistence: Persistence,
    pub(super) hooks: Option<Hooks>,
}

impl Check {
    pub(super) fn server(&mut self, node: &Node) -> Server {
        let Some(map) = self.map(node, "`server`") else { return Server::default() };
        self.only(&map, "`server`", &["persistence", "hooks"]);
        let persistence =
            map.get("persistence").and_then(|node| self.word(node, "`persistence`", Persistence::ALL));
        let hooks = map.get("hooks").and_then(|node| self.hooks(node));
        Server { persistence: persistence.unwrap_or_default(), hooks }
    }

    fn hooks(&mut self, node: &Node) -> Option<Hooks> {
        let map = self.map(node, "`hooks`")?;
        self.only(&map, "`hooks`", &["stop", "start", "within"]);
        let stop = self.hook(&map, "stop", "[docker, stop, redis]");
        let start = self.hook(&map, "start", "[docker, start, redis]");
        let within = map.get("within").map(|node| self.duration(node, "`within`"));
        Some(Hooks { stop: stop?, start: start?, within: within.unwrap_or(Some(WITHIN))? })
    }

    /// A program and its arguments, each exactly as it is written.
    fn hook(&mut self, map: &Map<'_>, name: &str, example: &str) -> Option<Vec<String>> {
        let node = self.required(map, "`hooks`", name, example)?;
        let what = format!("`{name}`");
        let list = self.list(node, &what)?;
        if list.is_empty() {
            self.wrong(node.at, format!("{what} is empty"), Some(format!("such as `{name}: {example}`")));
            return None;
        }
        let words: Vec<Option<String>> = list
            .iter()
            .map(|node| match &node.value {
                Value::Text(text) if !text.contains('\0') => Some(text.clone()),
                Value::Int(number) => Some(number.to_string()),
                other => {
                    self.wrong_type(node.at, &format!("an argument of {what}"), "a text", other);
                    None
                }
            })
            .collect();
        words.into_iter().collect()
    }
}
