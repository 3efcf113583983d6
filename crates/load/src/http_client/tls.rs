//! Whom a load over TLS believes to be the server: TLS 1.2 and 1.3, by rustls.
//!
//! Each connection makes a whole handshake, as a new visitor's does; none takes up a session of one before it.

use crate::workload::Error;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConnection, Resumption};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::Arc;

/// The authorities that Debian's `ca-certificates` trusts.
pub const SYSTEM_AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// How connections are secured, and whose certificate is taken.
#[derive(Debug, Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    server: ServerName<'static>,
}

/// Which certificates are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust<'a> {
    /// The server's own name, signed by an authority of this PEM file.
    Authorities(&'a Path),
    /// Any: whoever answers is the server.
    Anyone,
}

impl Tls {
    /// With a server of this name or address.
    ///
    /// # Errors
    /// When the name can't be one, or the file has no certificates.
    pub fn new(server: &str, trust: Trust) -> Result<Tls, Error> {
        let server = ServerName::try_from(server.to_string()).map_err(|_| Error::Parameter {
            setting: "server",
            problem: format!("{server:?} is no name that a certificate can have"),
        })?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions().expect("ring has the ciphers of TLS 1.2 and 1.3");
        let builder = match trust {
            Trust::Authorities(path) => builder.with_root_certificates(authorities(path)?),
            Trust::Anyone => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone(provider))),
        };
        let mut config = builder.with_no_client_auth();
        config.resumption = Resumption::disabled();
        Ok(Tls { config: Arc::new(config), server })
    }

    /// A connection's session, from its handshake on.
    pub(super) fn session(&self) -> ClientConnection {
        let mut session = ClientConnection::new(self.config.clone(), self.server.clone())
            .expect("the provider has a cipher and random numbers");
        session.set_buffer_limit(None);
        session
    }
}

fn authorities(path: &Path) -> Result<RootCertStore, Error> {
    let text = std::fs::read(path).map_err(Error::doing("read", path))?;
    let mut roots = RootCertStore::empty();
    // What the system has and rustls can't read is none of the user's business, as long as there are others.
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&text).filter_map(Result::ok));
    if roots.is_empty() {
        return Err(Error::wrong_data(path.display().to_string(), "certificates in PEM form", "none"));
    }
    Ok(roots)
}

/// Takes any certificate, whose owner must still have its key.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer,
        _: &[CertificateDer],
        _: &ServerName,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
