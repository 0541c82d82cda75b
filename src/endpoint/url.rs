//! Reads where a server is from a URL. No message quotes the URL: it may hold a password.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use super::{Endpoint, Login, Place, Tls, TlsError};

/// Where Redis listens where nothing else is said.
const USUAL_PORT: u16 = 6379;

/// How long each address of a name is tried.
const TRY_WITHIN: Duration = Duration::from_secs(5);

/// The forms that are read, as messages show them.
const FORMS: &str =
    "redis://[USER:PASSWORD@]HOST[:PORT], rediss:// for TLS, or unix:///PATH[?user=USER&pass=PASSWORD]";

/// Why a URL names no server.
#[derive(Debug, thiserror::Error)]
pub enum UrlError {
    /// It can't be read at all.
    #[error(
        "the Redis URL can't be read: {0}; write {FORMS}, with %-escapes for what is special in a password"
    )]
    Unreadable(url::ParseError),
    /// Another scheme.
    #[error("the Redis URL begins with an unknown scheme; write {FORMS}")]
    Scheme,
    /// A part is missing, or too much.
    #[error("the Redis URL {0}; write {FORMS}")]
    Part(String),
    /// Another database than the first.
    #[error("the Redis URL names a database; only database 0 is audited: leave it out")]
    Database,
    /// TLS can't be spoken.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The name has no address.
    #[error("{at}: the name has no address: {error}; check the Redis URL")]
    Resolve {
        /// Host and port.
        at: String,
        /// Why.
        error: io::Error,
    },
    /// Nobody listens.
    #[error("{at}: no connection: {why}; is the server up, and the Redis URL right?")]
    Unreachable {
        /// Host and port.
        at: String,
        /// What each address came to.
        why: String,
    },
}

/// Where a URL leads: an endpoint for each address of its name. Nobody has connected to any of them yet, so that all
/// can be refused before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    at: String,
    endpoints: Vec<Endpoint>,
}

impl Candidates {
    /// Each place that it may be.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// The first at which somebody listens; every connection goes there from now on.
    ///
    /// # Errors
    /// Where nobody listens at any address. A unix socket is not tried.
    pub async fn listening(&self) -> Result<Endpoint, UrlError> {
        let mut failed = Vec::new();
        for endpoint in &self.endpoints {
            let Some(addr) = endpoint.addr() else { return Ok(endpoint.clone()) };
            match tokio::time::timeout(TRY_WITHIN, endpoint.knock()).await {
                Ok(Ok(())) => return Ok(endpoint.clone()),
                Ok(Err(error)) => failed.push(format!("{addr}: {error}")),
                Err(_) => failed.push(format!("{addr}: no answer within {TRY_WITHIN:?}")),
            }
        }
        Err(UrlError::Unreachable { at: self.at.clone(), why: failed.join(", ") })
    }
}

impl From<Endpoint> for Candidates {
    fn from(endpoint: Endpoint) -> Candidates {
        Candidates { at: endpoint.to_string(), endpoints: vec![endpoint] }
    }
}

impl fmt::Display for Candidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.at)
    }
}

/// Reads a URL and resolves its name, once. Nothing is connected to.
///
/// `ca` is the file of a private authority for TLS.
///
/// # Errors
/// Where the URL is wrong, or its name has no address.
pub async fn candidates(url: &str, ca: Option<&Path>) -> Result<Candidates, UrlError> {
    let url = Url::parse(url.trim()).map_err(UrlError::Unreadable)?;
    let tls = match url.scheme() {
        "redis" | "valkey" => false,
        "rediss" | "valkeys" => true,
        "unix" | "redis+unix" => return socket(&url, ca).map(Candidates::from),
        _ => return Err(UrlError::Scheme),
    };
    if ca.is_some() && !tls {
        return Err(UrlError::Part("speaks no TLS, for which --redis-ca is".to_owned()));
    }
    if !matches!(url.path(), "" | "/" | "/0") {
        return Err(UrlError::Database);
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(UrlError::Part("has parameters, and none is known".to_owned()));
    }
    let host = match url.host() {
        Some(Host::Ipv6(addr)) => addr.to_string(),
        Some(host) => decoded(&host.to_string())?,
        None => return Err(UrlError::Part("has no host".to_owned())),
    };
    let login = login(&decoded(url.username())?, url.password().map(decoded).transpose()?)?;
    let tls = tls.then(|| Tls::to(&host, ca)).transpose()?;
    let port = url.port().unwrap_or(USUAL_PORT);
    let at = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    match tokio::net::lookup_host((host.as_str(), port)).await {
        Ok(addrs) => {
            let place = |addr: SocketAddr| Place::Tcp { host: host.clone(), addr };
            let endpoints =
                addrs.map(|addr| Endpoint::new(place(addr), tls.clone(), login.clone())).collect();
            Ok(Candidates { at, endpoints })
        }
        Err(error) => Err(UrlError::Resolve { at, error }),
    }
}

/// A server at a unix socket: its login is in the query.
fn socket(url: &Url, ca: Option<&Path>) -> Result<Endpoint, UrlError> {
    if ca.is_some() {
        return Err(UrlError::Part("names a unix socket, which has no TLS for --redis-ca".to_owned()));
    }
    if url.host_str().is_some_and(|host| !host.is_empty()) {
        return Err(UrlError::Part(
            "names a host and a unix socket: begin the path with a third /".to_owned(),
        ));
    }
    let path = decoded(url.path())?;
    if path.trim_matches('/').is_empty() {
        return Err(UrlError::Part("has no path".to_owned()));
    }
    let (mut user, mut password) = (String::new(), None);
    for (name, value) in url.query_pairs() {
        match &*name {
            "user" => user = value.into_owned(),
            "pass" | "password" => password = Some(value.into_owned()),
            "db" if value == "0" => {}
            "db" => return Err(UrlError::Database),
            _ => return Err(UrlError::Part("has a parameter that is none of user, pass and db".to_owned())),
        }
    }
    Ok(Endpoint::new(Place::Unix(PathBuf::from(path)), None, login(&user, password)?))
}

fn login(user: &str, password: Option<String>) -> Result<Option<Login>, UrlError> {
    let user = (!user.is_empty()).then(|| user.to_owned());
    match (user, password) {
        (user, Some(password)) => Ok(Some(Login::new(user, password))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(UrlError::Part("names a user without a password".to_owned())),
    }
}

fn decoded(text: &str) -> Result<String, UrlError> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| UrlError::Part("holds a %-escape that is no UTF-8".to_owned()))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    async fn read(url: &str) -> Result<Endpoint, String> {
        let listening = async { candidates(url, None).await?.listening().await };
        listening.await.map_err(|error: UrlError| error.to_string())
    }

    #[tokio::test]
    async fn each_form_names_its_place_and_its_login() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        for (url, user, password) in [
            (format!("redis://127.0.0.1:{port}"), None, None),
            (format!(" redis://localhost:{port}/0\n"), None, None),
            (format!("valkey://:a%2Fb@127.0.0.1:{port}/"), None, Some("a/b")),
            (format!("redis://me:p%40ss:w@127.0.0.1:{port}"), Some("me"), Some("p@ss:w")),
        ] {
            let endpoint = read(&url).await.unwrap();
            assert_eq!(endpoint.addr().unwrap(), listener.local_addr().unwrap(), "{url}");
            assert_eq!(endpoint.login().and_then(Login::user), user, "{url}");
            assert_eq!(endpoint.login().map(Login::password), password, "{url}");
        }
        for url in
            ["unix:///run/a%20b.sock?user=me&pass=s", "redis+unix:///run/a b.sock?password=s&user=me&db=0"]
        {
            let endpoint = read(url).await.unwrap();
            assert_eq!(endpoint.to_string(), "unix:/run/a b.sock");
            assert_eq!(
                endpoint.login().map(|login| (login.user(), login.password())),
                Some((Some("me"), "s"))
            );
        }
    }

    #[tokio::test]
    async fn what_is_wrong_is_said_without_a_word_of_the_url() {
        for (url, says) in [
            ("", "can't be read"),
            ("localhost:6379", "unknown scheme"),
            ("redis://:s3cret@host:port", "can't be read"),
            ("redis://:s3cret@", "can't be read"),
            ("http://:s3cret@host", "unknown scheme"),
            ("redis://:s3cret@host/3", "database"),
            ("rediss://:s3cret@host/#insecure", "parameters"),
            ("redis://:s3cret@host?password=s3cret", "parameters"),
            ("redis://s3cret@host", "user without a password"),
            ("redis://:s3%FFcret@host", "UTF-8"),
            ("unix://:s3cret@host/path", "third /"),
            ("unix:///?pass=s3cret", "no path"),
            ("unix:///path?s3cret=1", "none of user"),
            ("redis://:s3cret@127.0.0.1:1", "no connection"),
        ] {
            let error = read(url).await.unwrap_err();
            assert!(error.contains(says), "{url}: {error}");
            assert!(!error.contains("s3"), "{url}: {error}");
        }
        let ca = candidates("redis://host", Some(Path::new("ca.pem"))).await.unwrap_err().to_string();
        assert!(ca.contains("--redis-ca"), "{ca}");
        let missing =
            candidates("rediss://host", Some(Path::new("nowhere.pem"))).await.unwrap_err().to_string();
        assert!(missing.contains("nowhere.pem: can't be read"), "{missing}");
    }
}
