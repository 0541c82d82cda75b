//! TLS to a server whose certificate is checked, always: against the system's authorities, or a private one.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How TLS is spoken to one server.
#[derive(Clone)]
pub struct Tls {
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
}

/// Why TLS can't be spoken.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The server's name is none that a certificate can be for.
    #[error("{0}: no name that a certificate can be for")]
    Name(String),
    /// The file of the private authority can't be read, or holds no certificate.
    #[error("{}: {why}; --redis-ca takes a PEM file with the certificate of the authority that signed the server's", .path.display())]
    Authority {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The system has no authorities.
    #[error(
        "no certificate authorities are installed on this system; install ca-certificates, or name yours with --redis-ca FILE"
    )]
    NoAuthorities,
    /// The TLS library refused its settings.
    #[error("TLS can't be set up: {0}")]
    Setup(#[from] rustls::Error),
}

impl Tls {
    /// To the server of this name, whose certificate is signed by the authority in `ca`, or by one that the system
    /// trusts.
    ///
    /// # Errors
    /// Where the name can't be in a certificate, and where there is no authority.
    pub fn to(host: &str, ca: Option<&Path>) -> Result<Tls, TlsError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| TlsError::Name(host.to_owned()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(match ca {
                Some(path) => private(path)?,
                None => systems()?,
            })
            .with_no_client_auth();
        Ok(Tls { name, config: Arc::new(config) })
    }

    pub(super) async fn connect(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsConnector::from(Arc::clone(&self.config)).connect(self.name.clone(), stream).await
    }
}

fn private(path: &Path) -> Result<RootCertStore, TlsError> {
    let bad = |why: String| TlsError::Authority { path: path.to_owned(), why };
    let bytes = std::fs::read(path).map_err(|error| bad(format!("can't be read: {error}")))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        let certificate = certificate.map_err(|error| bad(format!("is no PEM file: {error}")))?;
        roots.add(certificate).map_err(|error| bad(format!("holds a bad certificate: {error}")))?;
    }
    if roots.is_empty() { Err(bad("holds no certificate".to_owned())) } else { Ok(roots) }
}

fn systems() -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    // A single certificate that can't be read is the system's concern; without any there is nothing to trust.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err(TlsError::NoAuthorities) } else { Ok(roots) }
}

impl PartialEq for Tls {
    fn eq(&self, other: &Tls) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.config, &other.config)
    }
}

impl Eq for Tls {}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(&self.name).finish()
    }
}
