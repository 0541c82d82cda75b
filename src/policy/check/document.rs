//! The file as a whole.

use std::sync::Arc;

use super::requests::Known;
use super::uses::{Draft, FileLayer};
use super::{Check, Map, listed};
use crate::policy::problem::Problems;
use crate::policy::yaml::{Node, Value};
use crate::policy::{PolicyFile, Source};

const FIELDS: [&str; 9] =
    ["version", "service", "server", "client", "budget", "states", "uses", "requests", "rules"];

/// The version of policy files that is read.
const VERSION: i128 = 1;

/// Checks a whole file.
pub(in crate::policy) fn document(source: &Arc<Source>, root: &Node) -> Result<PolicyFile, Problems> {
    let mut check = Check::new(Arc::clone(source));
    let Some(map) = check.map(root, "the file") else { return Err(check.into_problems()) };
    check.only(&map, "a policy file", &FIELDS);
    if let Some(node) = check.required(&map, "the file", "version", "1") {
        check.version(node);
    }
    let service = check
        .required(&map, "the file", "service", "my-service")
        .and_then(|node| check.text(node, "`service`"));
    let server = map.get("server").map(|node| check.server(node)).unwrap_or_default();
    let layer = FileLayer {
        client: map.get("client").map(|node| check.client(node)).unwrap_or_default(),
        budget: map.get("budget").map(|node| check.budget(node)).unwrap_or_default(),
    };
    let drafts = check.uses(&map, &layer);
    let requests = check.requests(&map, &drafts);
    let states = map.get("states").map(|node| check.states(node, &drafts)).unwrap_or_default();
    let rules = map.get("rules").map(|node| check.rules(node)).unwrap_or_default();
    check.finish(PolicyFile {
        source: Arc::clone(source),
        service: service.unwrap_or_default(),
        persistence: server.persistence,
        hooks: server.hooks,
        states,
        uses: drafts.into_iter().filter_map(|draft| draft.built).collect(),
        requests,
        rules,
    })
}

impl Check {
    fn version(&mut self, node: &Node) {
        match &node.value {
            Value::Int(VERSION) => {}
            Value::Int(other) => {
                let help = format!(
                    "this tool reads version {VERSION}: write `version: {VERSION}`, or use the tool that reads {other}"
                );
                self.wrong(node.at, format!("the file's version is {other}"), Some(help));
            }
            other => self.wrong_type(node.at, "`version`", &format!("the number {VERSION}"), other),
        }
    }

    fn uses(&mut self, map: &Map<'_>, layer: &FileLayer) -> Vec<Draft> {
        let example = "[{name: my-lock, kind: lock, key: \"lock:${id}\", ttl: 30s}]";
        let Some(node) = self.required(map, "the file", "uses", example) else { return Vec::new() };
        let Some(list) = self.list(node, "`uses`") else { return Vec::new() };
        if list.is_empty() {
            self.wrong(node.at, "`uses` is empty", Some(format!("such as `uses: {example}`")));
        }
        let drafts: Vec<Draft> = list.iter().map(|node| self.use_(node, layer)).collect();
        let named = || drafts.iter().filter_map(|draft| Some((draft, draft.name.as_ref()?)));
        self.unique(named().map(|(_, (name, at))| (name.as_str(), *at)), "uses");
        let lacking: Vec<&str> =
            named().filter(|(draft, _)| draft.lacks_timeout).map(|(_, (name, _))| name.as_str()).collect();
        if !lacking.is_empty() {
            let at = match (map.entry("client"), named().find(|(draft, _)| draft.lacks_timeout)) {
                (Some((key, _)), _) => key.at,
                (None, Some((_, (_, at)))) => *at,
                (None, None) => map.at,
            };
            let help = "say under `client` what the service's client is set to, such as `command_timeout: 2s`, or `none` where it waits for ever: the audit measures what is declared, and a guess would be a made-up figure".to_owned();
            self.wrong(at, format!("no `command_timeout` is declared for {}", listed(lacking)), Some(help));
        }
        drafts
    }

    fn requests(&mut self, map: &Map<'_>, drafts: &[Draft]) -> Vec<crate::policy::Request> {
        let Some(node) = map.get("requests") else { return Vec::new() };
        let Some(list) = self.list(node, "`requests`") else { return Vec::new() };
        let known = Known::new(drafts);
        let requests: Vec<_> = list.iter().filter_map(|node| self.request(node, &known)).collect();
        self.unique(requests.iter().map(|request| (request.name.as_str(), request.at)), "requests");
        requests
    }
}
