//! The ways into a server that exists (TLS, a unix socket, an ACL user), and that no password shows anywhere.

use std::path::Path;

use redis_outage_audit::report::json::from_json;
use redis_outage_audit::words::{State, Tri};

use crate::command::{Folder, cell};
use crate::existing::{Existing, POLICIES};

const PASSWORD: &str = "s3cret-of-theirs";

/// Writes an authority and a certificate that it signed for `localhost` and 127.0.0.1.
fn certificates(dir: &Path, name: &str) {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
    let write =
        |what: &str, text: String| std::fs::write(dir.join(format!("{name}-{what}.pem")), text).unwrap();
    write("ca", authority.pem());
    write("cert", certificate.pem());
    write("key", key.serialize_pem());
}

/// Audits it, and gives what the pause showed of an acquisition.
fn audited(folder: &Folder, args: &[&str]) -> redis_outage_audit::report::CellReport {
    let ended = folder.attach(&[args, &["--samples", "5", "--json", "report.json"]].concat());
    assert!(matches!(ended.code, 0 | 1), "{} {}\n{}", ended.code, ended.stdout, ended.stderr);
    let report = from_json(&folder.read("report.json")).unwrap();
    let paused = cell(&report, "cart-lock.acquire", State::Paused).clone();
    assert!(paused.proof.held(), "{:?}", paused.proof);
    assert!(cell(&report, "cart-lock.acquire", State::Healthy).proof.held());
    paused
}

#[test]
fn a_server_that_speaks_tls_with_a_certificate_of_a_private_authority_is_audited_and_another_is_not_believed()
{
    // Servers that were built from source by hand may lack TLS; the packaged one has it.
    if std::env::var_os("AUDIT_TEST_REDIS_SERVER").is_some() {
        return;
    }
    let (dir, folder) = (tempfile::tempdir().unwrap(), Folder::with(POLICIES));
    certificates(dir.path(), "theirs");
    certificates(dir.path(), "other");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let options = ["--tls-port", &port.to_string(), "--tls-auth-clients", "no", "--requirepass", PASSWORD]
        .map(str::to_owned)
        .into_iter()
        .chain(["--tls-cert-file".to_owned(), path("theirs-cert.pem")])
        .chain(["--tls-key-file".to_owned(), path("theirs-key.pem")])
        .chain(["--tls-ca-cert-file".to_owned(), path("theirs-ca.pem")])
        .collect::<Vec<_>>();
    let _server = Existing::with(&options.iter().map(String::as_str).collect::<Vec<_>>());
    let url = folder.write("url", format!("rediss://:{PASSWORD}@localhost:{port}\n"));
    let file = ["--redis-url-file", url.to_str().unwrap()];
    let paused = audited(&folder, &[&file[..], &["--redis-ca", &path("theirs-ca.pem")]].concat());
    assert!(
        paused.probes.iter().flat_map(|probe| &probe.attempts).all(|attempt| attempt.ran != Tri::Unknown)
    );
    for more in [vec!["--redis-ca".to_owned(), path("other-ca.pem")], vec![]] {
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let ended = folder.attach(&[&file[..], &more].concat());
        assert!(matches!(ended.code, 2 | 4), "{} {}", ended.code, ended.stderr);
        assert!(ended.stderr.contains("certificate"), "{}", ended.stderr);
        assert!(!ended.stderr.contains(PASSWORD));
    }
}

#[test]
fn a_server_at_a_unix_socket_is_audited_though_nobody_knows_there_whose_command_ran() {
    let folder = Folder::with(POLICIES);
    let server = Existing::with(&["--unixsocket", "DIR/redis sock", "--requirepass", PASSWORD]);
    let socket = server.dir.path().join("redis sock").display().to_string().replace(' ', "%20");
    let url = format!("unix://{socket}?pass={PASSWORD}");
    let mut command =
        folder.attach_command(&["--redis-url-env", "THEIR_URL", "--samples", "5", "--json", "report.json"]);
    let ended = crate::command::Ended::of(command.env("THEIR_URL", url).output().unwrap());
    assert!(matches!(ended.code, 0 | 1), "{} {}\n{}", ended.code, ended.stdout, ended.stderr);
    let report = from_json(&folder.read("report.json")).unwrap();
    let paused = cell(&report, "cart-lock.acquire", State::Paused);
    assert!(paused.proof.held(), "{:?}", paused.proof);
    let mut attempts = paused.probes.iter().flat_map(|probe| &probe.attempts);
    assert!(attempts.all(|attempt| attempt.ran == Tri::Unknown && attempt.port.is_none()));
    assert!(report.notes.iter().any(|note| note.contains("unix socket")), "{:?}", report.notes);
}

#[test]
fn an_acl_user_with_what_the_documentation_names_is_audited_and_one_with_less_is_told_what_is_missing() {
    let (server, folder) = (Existing::start(), Folder::with(POLICIES));
    let page = include_str!("../../docs/attached-server.md");
    let line = page.lines().find(|line| line.starts_with("ACL SETUSER auditor")).unwrap();
    let rule = line.replace("PASSWORD", PASSWORD);
    server.ask(&rule.split(' ').collect::<Vec<_>>());
    let url = format!("redis://auditor:{PASSWORD}@127.0.0.1:{}", server.port);
    audited(&folder, &["--redis-url", &url]);
    assert_eq!(server.keys(), Vec::<String>::new());
    let more = page.split("`+config|get").nth(1).unwrap().split('`').next().unwrap();
    let more = format!("+config|get{more}");
    server.ask(&[&["ACL", "SETUSER", "auditor"][..], &more.split(' ').collect::<Vec<_>>()].concat());
    let before = server.settings();
    let states = ["--allow-config", "--states", "paused,out_of_memory,read_only,too_many_clients"];
    audited(&folder, &[&["--redis-url", &url][..], &states].concat());
    assert_eq!(server.settings(), before);
    folder
        .attach(&["--redis-url", &url, "--allow-config", "--states", "auth_rejected"])
        .fails_with(2, &["auth_rejected", "the default user's password"]);
    server.ask(&["ACL", "SETUSER", "auditor", "-info"]);
    folder.attach(&["--redis-url", &url]).fails_with(4, &["INFO was answered by NOPERM"]);
    server.ask(&["ACL", "SETUSER", "auditor", "+info", "-monitor"]);
    folder
        .attach(&["--redis-url", &url, "--samples", "5"])
        .fails_with(4, &["MONITOR was answered by", "NOPERM"]);
    assert!(server.answers_within(std::time::Duration::from_secs(1)));
}

#[test]
fn a_password_shows_in_no_output_of_a_good_run_and_of_no_bad_one() {
    let server = Existing::with(&["--requirepass", PASSWORD]);
    let folder = Folder::with(POLICIES);
    let url = format!("redis://:{PASSWORD}@127.0.0.1:{}", server.port);
    let wrong = format!("redis://default:{PASSWORD}x@127.0.0.1:{}", server.port);
    let nowhere = format!("redis://:{PASSWORD}@127.0.0.1:1");
    let broken = format!("redis://:{PASSWORD}@127.0.0.1:port");
    let insecure = format!("redis://:{PASSWORD}@127.0.0.1:{}/#insecure", server.port);
    // A list is taken apart at its commas.
    let listed = format!("redis://:{PASSWORD},it's/{PASSWORD}@127.0.0.1:{}", server.port);
    let reports = ["--samples", "5", "--json", "report.json", "--markdown", "table.md"];
    for (args, code) in [
        ([&["--redis-url", &url][..], &reports].concat(), None),
        (vec!["--redis-url", &url, "--dry-run"], Some(0)),
        (vec!["--redis-url", &url, "--samples", "5", "--allow-config", "--states", "auth_rejected"], None),
        (vec!["--redis-url", &url, "--states", "stopped"], Some(2)),
        (vec!["--redis-url", &url, "--states", "paused", "--max-pause", "1ms"], Some(2)),
        (vec!["--redis-url", &wrong], Some(4)),
        (vec!["--redis-url", &nowhere], Some(4)),
        (vec!["--redis-url", &broken], Some(2)),
        (vec!["--redis-url", &insecure], Some(2)),
        (vec!["--redis-url", &url, "--redis-url", &url], Some(2)),
        (vec!["--redis-url", &url, "--redis-url-env", "X"], Some(2)),
        (vec!["--redis-ulr", &url], Some(2)),
        (vec![&url], Some(2)),
        (vec!["restore", &url], Some(2)),
        (vec!["--samples", &url], Some(2)),
        (vec!["--policies", &url], Some(2)),
        (vec!["--policies", &listed], Some(2)),
        (vec!["--states", &url], Some(2)),
        (vec!["--states", &listed], Some(2)),
        (vec!["--only", &url], Some(2)),
        (vec!["--only", &listed], Some(2)),
        (vec!["--json", &url], Some(4)),
        (vec!["--markdown", &listed], Some(4)),
        (vec!["--check", &url], Some(4)),
        (vec!["--redis-server", &url], Some(4)),
        (vec!["--redis-url-env", &url], Some(2)),
        (vec!["--redis-url-file", &url], Some(2)),
        (vec!["kinds", &url], Some(2)),
        (vec!["explain", &url], Some(2)),
        (vec!["restore", "--journal", &url], Some(5)),
        (vec!["restore", "--redis-url", &url], Some(0)),
        (vec!["restore", "--redis-url", &wrong, "--journal", "nowhere"], Some(5)),
    ] {
        let ended = folder.attach(&args);
        for text in [&ended.stdout, &ended.stderr] {
            assert!(!text.contains(PASSWORD), "{args:?} shows the password:\n{text}");
        }
        match code {
            Some(code) => assert_eq!(ended.code, code, "{args:?} {}\n{}", ended.stdout, ended.stderr),
            None => assert!(matches!(ended.code, 0 | 1 | 3), "{args:?} {}\n{}", ended.code, ended.stderr),
        }
    }
    for name in ["report.json", "table.md"] {
        assert!(!folder.read(name).contains(PASSWORD), "{name}");
    }
}
