use super::{HEAD, bad, file_with, good, lock_with, one};
use crate::policy::load;
use crate::text::Look;

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    let line = one(text);
    for part in parts {
        assert!(line.contains(part), "{part:?} is not in: {line}");
    }
}

#[test]
fn all_problems_of_a_file_are_told_in_its_order() {
    let list = bad(
        "version: 1\nservise: s\nclient: {command_timeout: 2}\nuses:\n  - {name: a, kind: lok, key: k}\n  - {name: b, kind: cache, key: \"${\", ttl: -3s}\n",
    );
    let lines: Vec<usize> = list.iter().map(|problem| problem.place.span.line).collect();
    assert_eq!(lines, [2, 3, 5, 6, 6], "{list:#?}");
    assert_eq!(list[0].did_you_mean.as_deref(), Some("service"));
    assert_eq!(list[2].did_you_mean.as_deref(), Some("lock"));
}

#[test]
fn a_word_that_is_close_is_suggested_and_one_that_is_not_is_not() {
    says(&lock_with("on_outage: fail-open"), &["did you mean `fail_open`?", "policies.yaml:9:16"]);
    says(&lock_with("on_outag: fail_open"), &["has no field `on_outag`", "did you mean `on_outage`?"]);
    says(&lock_with("on_outage: fail_opne"), &["did you mean `fail_open`?"]);
    assert!(!one(&lock_with("on_outage: explode")).contains("did you mean"));
    says(&lock_with("release: compare_delete"), &["`compare_and_delete`"]);
}

#[test]
fn durations_say_how_they_are_written() {
    for (written, parts) in [
        ("30", &["`ttl` has no unit", "`30s`"][..]),
        ("1.5", &["has no unit", "`1.5s`"]),
        ("0", &["`ttl` is 0"]),
        ("0s", &["`ttl` is 0"]),
        ("-3s", &["negative", "`250ms`"]),
        ("-3", &["negative", "`250ms`"]),
        ("soon", &["no duration", "`250ms`"]),
        ("4 fortnights", &["no duration"]),
        ("90000years", &["above ten years"]),
        ("5us", &["below a millisecond"]),
        ("[1s]", &["is a list", "a duration"]),
        ("", &["is empty"]),
    ] {
        says(&lock_with("").replace("ttl: 30s", &format!("ttl: {written}")), parts);
    }
    // Only a lock can be without a life.
    says(
        &lock_with("").replace("kind: lock", "kind: session").replace("ttl: 30s", "ttl: none"),
        &["no duration"],
    );
}

#[test]
fn a_client_is_checked_field_by_field() {
    for (client, parts) in [
        ("library: lettuce", &["`lettuce`", "only `probe`"][..]),
        ("pool: 8", &["`client.pool` is not there yet"]),
        ("emulate: lettuce", &["not there yet"]),
        ("options: {}", &["not there yet"]),
        ("breaker: {}", &["not there yet"]),
        ("attempts: 0", &["`attempts` is 0", "from 1"]),
        ("attempts: three", &["the text `three`"]),
        ("attempts: 1.5", &["the number 1.5"]),
        ("on_timeout: drop", &["`close`", "`keep`"]),
        ("reconnect: always", &["`next_use`"]),
        ("handshake: helo", &["did you mean `hello`?"]),
        ("backoff: {exponential: {base: 10ms, cap: 1s, jitter: 1.5}}", &["`jitter` is 1.5", "0 to 1"]),
        ("backoff: {exponential: {base: 10ms, cap: 1ms}}", &["`cap` is below `base`"]),
        ("backoff: {exponential: {base: 10ms}}", &["has no `cap`"]),
        ("backoff: {}", &["one of `fixed` and `exponential`"]),
        ("conect_timeout: 1s", &["did you mean `connect_timeout`?"]),
    ] {
        says(&lock_with(&format!("client: {{{client}}}")), parts);
    }
}

#[test]
fn a_missing_command_timeout_is_told_once_and_names_the_uses() {
    let text = file_with("").replace("client: {command_timeout: 2s}\n", "");
    says(&text, &["no `command_timeout`", "`l`", "under `client`", "`none`"]);
    assert!(!one(&text).contains("`m`"));
}

#[test]
fn kinds_fields_and_operations_are_checked() {
    says(
        &lock_with("window: 3s"),
        &["`lock` does not use the field `window`", "`heartbeat_dedup`", "`rate_limit`"],
    );
    says(&lock_with("commands: {}"), &["does not use the field `commands`", "`custom`"]);
    says(&lock_with("on_outage: {aquire: fail_open}"), &["no operation `aquire`", "did you mean `acquire`?"]);
    says(&lock_with("on_outage: {take: fail_open}"), &["its operations are `acquire` and `release`"]);
    says(&lock_with("operations: [acquire, acquire]"), &["names `acquire` twice"]);
    says(&lock_with("operations: []"), &["is empty", "`acquire` and `release`"]);
    says(
        &lock_with("operations: [acquire]\non_outage: {release: fail_open}"),
        &["no operation `release`", "add `release` to its `operations`"],
    );
    says(&lock_with("").replace("    ttl: 30s\n", ""), &["has no `ttl`", "add `ttl: 30s`"]);
    says(&lock_with("").replace("    key: l:${id}\n", ""), &["has no `key`"]);
    says(&lock_with("").replace("kind: lock", "kind: mutex"), &["can't be `mutex`", "`queue`"]);
}

#[test]
fn fields_that_contradict_each_other_are_told_at_the_field() {
    let text = format!(
        "{HEAD}uses:\n  - name: i\n    kind: idempotency_key\n    key: i\n    in_flight_ttl: 2h\n    result_ttl: 1h\n"
    );
    says(&text, &["policies.yaml:8:20", "outlives"]);
}

#[test]
fn a_policy_that_makes_no_sense_is_refused_once_a_place() {
    says(
        &lock_with("on_outage: fallback"),
        &["`fallback` makes no sense for `acquire` and `release`", "`fail_open`"],
    );
    says(&lock_with("on_outage: {acquire: fallback}"), &["makes no sense for `acquire`;"]);
}

#[test]
fn names_are_unique_and_plain() {
    let twice = lock_with("") + "  - {name: l, kind: lock, key: l, ttl: 1s}\n";
    says(&twice, &["two uses are named `l`", "line 5", "policies.yaml:9:12"]);
    let requests = "requests:\n  - {name: r, calls: [l.acquire]}\n  - {name: r, calls: [l.acquire]}\n";
    says(&file_with(requests), &["two requests are named `r`"]);
    for (name, part) in [
        ("\"\"", "is empty"),
        ("a b", "a space"),
        ("a.b", "a dot"),
        ("\"\\e[31m\"", "control character"),
        ("7", "a name"),
    ] {
        says(&lock_with("").replace("name: l\n", &format!("name: {name}\n")), &[part]);
    }
}

#[test]
fn requests_name_uses_and_operations_that_are_there() {
    let call = |call: &str| file_with(&format!("requests:\n  - {{name: r, calls: [{call}]}}\n"));
    says(&call("k.acquire"), &["no use `k`"]);
    says(&call("l.acquir"), &["no operation `acquir`", "did you mean `acquire`?"]);
    says(&call("l"), &["names no operation", "`acquire` and `release`"]);
    says(&call("{call: l.acquire, times: 0}"), &["`times` is 0"]);
    says(&call("{call: l.acquire, on_denied: go}"), &["`continue`"]);
    says(&call("{times: 2}"), &["has no `call`"]);
    says(&call(""), &["`calls` is empty"]);
    let field =
        |field: &str| file_with(&format!("requests:\n  - {{name: r, calls: [l.acquire], {field}}}\n"));
    says(&field("rate: 0"), &["`rate` is 0", "above 0"]);
    says(&field("rate: -1.5"), &["`rate` is -1.5"]);
    says(&field("threads: 0"), &["`threads` is 0"]);
    says(&field("budget: {thawed: 1s}"), &["no state `thawed`", "`paused`"]);
}

#[test]
fn a_call_of_a_use_that_is_wrong_itself_is_not_told_twice() {
    let text = file_with("requests:\n  - {name: r, calls: [l.acquire]}\n").replace("kind: lock", "kind: lok");
    says(&text, &["`lok`"]);
}

#[test]
fn budgets_name_states_or_operations() {
    says(&lock_with("budget: {pausd: 1s}"), &["neither a state nor an operation", "did you mean `paused`?"]);
    says(&lock_with("budget: {paused: 1s, acquire: 2s}"), &["states beside operations"]);
    says(&lock_with("budget: {acquire: {release: 2s}}"), &["no state `release`"]);
    says(&lock_with("budget: 250"), &["has no unit"]);
}

#[test]
fn an_acceptance_says_what_and_why() {
    let accept = |fields: &str| lock_with(&format!("accepts: [{{{fields}}}]"));
    says(&accept("finding: double-entry"), &["has no `because`"]);
    says(&accept("finding: double-entry, because: \" \""), &["`because` is empty"]);
    says(&accept("finding: double-entri, because: x"), &["did you mean `double-entry`?"]);
    says(&accept("finding: double-entry, because: x, operation: take"), &["no operation `take`"]);
    says(&accept("finding: double-entry, because: x, in: [pausd]"), &["did you mean `paused`?"]);
    says(&accept("finding: double-entry, because: x, on: paused"), &["has no field `on`"]);
    says(&accept("finding: fault-not-proven, because: x"), &["never green"]);
}

#[test]
fn rules_name_findings_and_severities() {
    says(&file_with("rules: {undecide: warn}\n"), &["did you mean `undecided`?"]);
    says(&file_with("rules: {undecided: warning}\n"), &["`deny`", "can't be `warning`"]);
    says(&file_with("rules: {fault-not-proven: allow}\n"), &["never green"]);
}

#[test]
fn a_use_in_memory_declares_nothing_for_an_outage() {
    let text = file_with("").replace("backend: in_memory", "backend: in_memory\n    on_outage: fail_open");
    says(&text, &["`on_outage`", "never reaches Redis"]);
}

#[test]
fn keys_are_checked() {
    for (key, part) in [
        ("\"\"", "can't be empty"),
        ("\"a:${id\"", "not closed"),
        ("\"a:${}\"", "no name"),
        ("\"a:${env:HOME}\"", "reserved"),
        ("12", "a key"),
    ] {
        says(&lock_with("").replace("key: l:${id}", &format!("key: {key}")), &[part]);
    }
}

#[test]
fn custom_commands_are_checked() {
    let custom =
        |commands: &str| format!("{HEAD}uses:\n  - name: c\n    kind: custom\n    commands: {commands}\n");
    says(&custom("{}"), &["`commands` is empty"]);
    says(&custom("{x: {}}"), &["has no `run`"]);
    says(&custom("{x: {run: []}}"), &["`run` is empty"]);
    says(&custom("{x: {run: [[]]}}"), &["a command of `run` is empty"]);
    says(&custom("{x: {run: [GET]}}"), &["expected a list"]);
    says(&custom("{x: {run: [[\"GET x\"]]}}"), &["no command's name"]);
    says(&custom("{x: {run: [[SET, a, 1.50]]}}"), &["the number 1.5", "quotes"]);
    says(&custom("{x: {run: [[\"${id}\"]]}}"), &["no command's name"]);
    says(&custom("{x: {run: [[GET, \"${env:X}\"]]}}"), &["reserved"]);
    says(&custom("{x: {run: [[GET, a]], ok_when: yes}}"), &["`truthy`"]);
    says(&custom("{x: {run: [[GET, a]], writes: no}}"), &["`true` or `false`"]);
    says(&custom("{paused: {run: [[GET, a]]}}"), &["the name of a state"]);
    says(&custom("{x.y: {run: [[GET, a]]}}"), &["a dot"]);
    says(&format!("{HEAD}uses: [{{name: c, kind: custom}}]\n"), &["has no `commands`"]);
}

#[test]
fn the_file_as_a_whole_is_checked() {
    says(&file_with("").replace("version: 1", "version: 2"), &["version is 2", "reads version 1"]);
    says(&file_with("").replace("version: 1", "version: one"), &["the number 1"]);
    says(&file_with("").replace("version: 1\n", ""), &["has no `version`"]);
    says(&file_with("").replace("service: s\n", ""), &["has no `service`"]);
    says(&file_with("server: {persistence: disk}\n"), &["`aof`"]);
    says(&format!("{HEAD}uses: []\n"), &["`uses` is empty"]);
    says(&format!("{HEAD}uses: {{}}\n"), &["a list"]);
    says(HEAD, &["has no `uses`"]);
    says("just a text\n", &["the text `just a text`"]);
    says("[1, 2]\n", &["is a list"]);
}

#[test]
fn what_is_no_yaml_is_told_with_its_place() {
    says("version: 1\nversion: 1\n", &["policies.yaml:2:1", "`version` stands twice"]);
    says("version: 1\nuses:\n\t- x\n", &["policies.yaml:3:2", "tab", "spaces"]);
    says("version: [1\n", &["policies.yaml:1:10", "unclosed"]);
    says("version: 1\n---\nversion: 1\n", &["policies.yaml:2:1", "second document"]);
    says("version: *x\n", &["policies.yaml:1:10", "anchor"]);
    says("{a: 1}: 2\n", &["must be a text"]);
    says("version: !foo 1\n", &["tag"]);
    let deep = format!("version: {}", "[".repeat(40_000));
    says(&deep, &["nested too deep"]);
}

#[test]
fn problems_are_rendered_beside_their_lines() {
    let text = lock_with("on_outage: fail-open");
    let problems = super::read(&text).expect_err("it is wrong");
    let plain = problems.render(Look::PLAIN);
    for part in [
        "error: `on_outage` can't be `fail-open`",
        "--> policies.yaml:9:16",
        "9 |     on_outage: fail-open",
        "^^^^^^^^^",
        "help: did you mean `fail_open`?",
    ] {
        assert!(plain.contains(part), "{part:?} is not in\n{plain}");
    }
    assert!(!plain.contains('\u{1b}'));
    let colored = problems.render(Look { color: true, ..Look::PLAIN });
    assert!(colored.contains("\u{1b}["));
    let missing = load(std::path::Path::new("not-there.yaml")).expect_err("it is missing");
    assert!(missing.render(Look::PLAIN).contains("--> not-there.yaml"));
}

#[test]
fn a_use_of_an_unknown_kind_is_still_searched_for_misspelt_fields() {
    let list = bad(&lock_with("on_outag: fail_open").replace("kind: lock", "kind: lok"));
    assert_eq!(list.len(), 2, "{list:#?}");
    assert_eq!(list[1].did_you_mean.as_deref(), Some("on_outage"));
}

#[test]
fn a_misspelt_field_is_not_told_as_missing_too() {
    says(&lock_with("").replace("ttl: 30s", "tll: 30s"), &["no field `tll`", "did you mean `ttl`?"]);
    says(&file_with("").replace("service: s", "servise: s"), &["did you mean `service`?"]);
}

#[test]
fn states_are_known_stand_once_and_take_what_they_take() {
    let states = |states: &str| file_with(&format!("states: {states}\n"));
    says(&states("[frosen]"), &["no state `frosen`", "did you mean `frozen`?"]);
    says(&states("[]"), &["`states` is empty"]);
    says(&states("paused"), &["expected a list"]);
    says(&states("[paused, stopped, paused]"), &["`paused` stands twice"]);
    says(&states("[{slow: {latency: 1s}}, slow]"), &["`slow` stands twice"]);
    says(&states("[{slow: {latancy: 1s}}]"), &["no field `latancy`", "did you mean `latency`?"]);
    says(&states("[{slow: {latency: 5}}]"), &["`latency` of `slow`"]);
    says(&states("[{slow: {latency: 10h}}]"), &["`latency` of `slow` is above 10 s", "write at most `10s`"]);
    one(&states("[{slow: {latency: 10h, jitter: 1s}}]"));
    says(&states("[{slow: {latency: 10001ms}}]"), &["is above 10 s"]);
    good(&states("[{slow: {latency: 10s, jitter: 10s}}]"));
    says(
        &states("[{slow: {jitter: 300ms}}]"),
        &["`jitter` of `slow` is 300 ms, above its `latency` of 200 ms"],
    );
    let least = good(&states("[{slow: {latency: 20ms}}]"));
    let slow = least.state(crate::words::State::Slow).unwrap();
    assert_eq!(slow.duration("jitter"), slow.duration("latency"), "what is left out gives way");
    good(&states("[{slow: {latency: 20ms, jitter: 0ms}}]"));
    says(&states("[{flapping: {failures: many}}]"), &["`failures` of `flapping`"]);
    says(
        &states("[{paused: {scope: l}}]"),
        &[
            "no field `scope`",
            "`paused` takes no parameters",
            "only states that a proxy brings about",
            "flapping",
        ],
    );
    assert!(!one(&states("[{slow: {latancy: 1s}}]")).contains("only states"));
    says(&states("[{slow: {scope: k}}]"), &["no use `k`"]);
    says(&states("[{slow: {scope: m}}]"), &["`m` is in memory", "name a use that asks Redis"]);
    says(&states("[{slow: {}, paused: {}}]"), &["one name"]);
    says(&states("[7]"), &["its name"]);
}

#[test]
fn hooks_are_programs_with_arguments_as_they_are_written() {
    let with = |server: &str| format!("{HEAD}server: {server}\n{}", &lock_with("")[HEAD.len()..]);
    for (server, parts) in [
        ("{hooks: [stop]}", &["`hooks` is a list", "a map"][..]),
        ("{hooks: {stop: [a]}}", &["`hooks` has no `start`", "[docker, start, redis]"]),
        ("{hooks: {stop: docker stop redis, start: [a]}}", &["`stop` is the text", "a list"]),
        ("{hooks: {stop: [], start: [a]}}", &["`stop` is empty"]),
        ("{hooks: {stop: [a, [b]], start: [a]}}", &["an argument of `stop` is a list"]),
        ("{hooks: {stop: [a], start: [a], within: 5}}", &["`within` has no unit"]),
        ("{hooks: {stop: [a], start: [a], witin: 5s}}", &["did you mean `within`?"]),
        ("{hook: {stop: [a], start: [a]}}", &["did you mean `hooks`?"]),
    ] {
        says(&with(server), parts);
    }
    let file = super::good(&with("{hooks: {stop: [a, ' b  c', 7], start: [d]}}"));
    let hooks = file.hooks.unwrap();
    assert_eq!(
        (hooks.stop, hooks.start.len()),
        (vec!["a".to_owned(), " b  c".to_owned(), "7".to_owned()], 1)
    );
}
