//! `client`: how the service's client behaves, for the file and on top of that for a use.

use std::time::Duration;

use super::Check;
use crate::policy::yaml::{Node, Value};
use crate::policy::{Backoff, Client, Handshake, OnTimeout, Reconnect};
use crate::words::Span;

const FIELDS: [&str; 8] = [
    "library",
    "connect_timeout",
    "command_timeout",
    "attempts",
    "backoff",
    "on_timeout",
    "reconnect",
    "handshake",
];

/// Fields that later versions of the tool will read.
const RESERVED: [&str; 4] = ["emulate", "options", "pool", "breaker"];

/// More attempts than any client makes, and few enough that a plan can add them up.
const MOST_ATTEMPTS: u32 = 1_000;

/// What one `client` says; what it leaves out is left to the layer below.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClientLayer {
    connect_timeout: Option<Option<Duration>>,
    /// Also set where the field is there but wrong, so that it is not called missing too.
    command_timeout: Option<(Option<Duration>, Span)>,
    attempts: Option<(u32, Span)>,
    backoff: Option<Backoff>,
    on_timeout: Option<OnTimeout>,
    reconnect: Option<Reconnect>,
    handshake: Option<Handshake>,
}

impl ClientLayer {
    /// Whether the command timeout is declared here.
    pub(super) fn has_command_timeout(&self) -> bool {
        self.command_timeout.is_some()
    }

    /// This layer on top of the file's, and the defaults under both.
    pub(super) fn over(&self, file: &ClientLayer) -> Client {
        let (command_timeout, command_timeout_at) =
            self.command_timeout.or(file.command_timeout).unwrap_or_default();
        let (attempts, attempts_at) = self.attempts.or(file.attempts).unwrap_or((1, command_timeout_at));
        Client {
            connect_timeout: self.connect_timeout.or(file.connect_timeout).unwrap_or(command_timeout),
            command_timeout,
            attempts,
            backoff: self.backoff.or(file.backoff).unwrap_or(Backoff::None),
            on_timeout: self.on_timeout.or(file.on_timeout).unwrap_or(OnTimeout::Close),
            reconnect: self.reconnect.or(file.reconnect).unwrap_or(Reconnect::NextUse),
            handshake: self.handshake.or(file.handshake).unwrap_or(Handshake::Setinfo),
            command_timeout_at,
            attempts_at,
        }
    }
}

impl Check {
    pub(super) fn client(&mut self, node: &Node) -> ClientLayer {
        let Some(map) = self.map(node, "`client`") else {
            return ClientLayer { command_timeout: Some((None, node.at)), ..ClientLayer::default() };
        };
        for (key, _) in map.entries {
            let name = key.text.as_str();
            if RESERVED.contains(&name) {
                let help = "it is reserved: remove it until this tool reads it".to_owned();
                self.wrong(key.at, format!("`client.{name}` is not there yet"), Some(help));
            } else if !FIELDS.contains(&name) {
                let help = format!("its fields are {}", super::listed(FIELDS));
                self.unknown(key.at, format!("`client` has no field `{name}`"), name, FIELDS, Some(help));
            }
        }
        if let Some(node) = map.get("library") {
            self.library(node);
        }
        ClientLayer {
            connect_timeout: map
                .get("connect_timeout")
                .and_then(|node| self.timeout(node, "`connect_timeout`")),
            command_timeout: map
                .get("command_timeout")
                .map(|node| (self.timeout(node, "`command_timeout`").flatten(), node.at)),
            attempts: map.get("attempts").and_then(|node| {
                self.small_count(node, "`attempts`", MOST_ATTEMPTS).map(|attempts| (attempts, node.at))
            }),
            backoff: map.get("backoff").and_then(|node| self.backoff(node)),
            on_timeout: map
                .get("on_timeout")
                .and_then(|node| self.word(node, "`on_timeout`", OnTimeout::ALL)),
            reconnect: map.get("reconnect").and_then(|node| self.word(node, "`reconnect`", Reconnect::ALL)),
            handshake: map.get("handshake").and_then(|node| self.word(node, "`handshake`", Handshake::ALL)),
        }
    }

    fn library(&mut self, node: &Node) {
        match &node.value {
            Value::Text(text) if text == "probe" => {}
            Value::Text(text) => {
                let help = "only `probe`, the built-in client, so far".to_owned();
                let message = format!("`library` can't be `{text}`");
                self.unknown(node.at, message, text, ["probe"], Some(help));
            }
            other => self.wrong_type(node.at, "`library`", "`probe`", other),
        }
    }

    fn backoff(&mut self, node: &Node) -> Option<Backoff> {
        let Value::Map(_) = &node.value else {
            return Some(self.timeout(node, "`backoff`")?.map_or(Backoff::None, Backoff::Fixed));
        };
        let map = self.map(node, "`backoff`")?;
        self.only(&map, "`backoff`", &["fixed", "exponential"]);
        match (map.get("fixed"), map.get("exponential")) {
            (Some(node), None) => self.duration(node, "`fixed`").map(Backoff::Fixed),
            (None, Some(node)) => self.exponential(node),
            _ => {
                let help =
                    "write `none`, `{fixed: 50ms}` or `{exponential: {base: 10ms, cap: 1s}}`".to_owned();
                self.wrong(map.at, "`backoff` needs one of `fixed` and `exponential`", Some(help));
                None
            }
        }
    }

    fn exponential(&mut self, node: &Node) -> Option<Backoff> {
        let map = self.map(node, "`exponential`")?;
        self.only(&map, "`exponential`", &["base", "cap", "jitter"]);
        let base = self
            .required(&map, "`exponential`", "base", "10ms")
            .and_then(|node| self.duration(node, "`base`"));
        let cap =
            self.required(&map, "`exponential`", "cap", "1s").and_then(|node| self.duration(node, "`cap`"));
        let jitter = match map.get("jitter") {
            None => Some(0.0),
            Some(node) => {
                self.number(node, "`jitter`", "a number from 0 to 1", |share| (0.0..=1.0).contains(&share))
            }
        };
        let (base, cap, jitter) = (base?, cap?, jitter?);
        if cap < base {
            let help = "the first wait can't be above the longest".to_owned();
            self.wrong(map.at, "`cap` is below `base`", Some(help));
            return None;
        }
        Some(Backoff::Exponential { base, cap, jitter })
    }
}
