//! TLS 1.3 between two sides that know each other's key: raw public keys (RFC 7250), so that there is no certificate to read, no name to
//! believe and no authority to trust. A key that is not the paired one ends the handshake.

use crate::line::{Line, Socket};
use crate::pairing::Pairing;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, ClientConnection, Resumption};
use rustls::crypto::ring::{default_provider, sign};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage, ServerConnection};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme,
    StreamOwned,
};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A handshake that takes longer is none.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// Answers a study: none but the paired one gets through. Its first words must come within the time of the handshake, too.
pub fn answer(pairing: &Pairing, socket: Socket) -> io::Result<Line> {
    let pinned = Pinned::of(pairing);
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(io::Error::other)?;
    let keys = Arc::new(AlwaysResolvesServerRawPublicKeys::new(own(pairing)?));
    let mut config = builder.with_client_cert_verifier(Arc::new(pinned)).with_cert_resolver(keys);
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    let mut session = ServerConnection::new(Arc::new(config)).map_err(io::Error::other)?;
    let mut socket = socket;
    socket.until(Instant::now() + HANDSHAKE_MAX);
    while session.is_handshaking() {
        session.complete_io(&mut socket)?;
    }
    Ok(Line::over(StreamOwned::new(session, socket)))
}

/// Reaches an agent, which must be the paired one.
pub fn reach(pairing: &Pairing, socket: Socket) -> io::Result<Line> {
    let pinned = Pinned::of(pairing);
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(io::Error::other)?;
    let keys = Arc::new(AlwaysResolvesClientRawPublicKeys::new(own(pairing)?));
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(pinned));
    let mut config = builder.with_client_cert_resolver(keys);
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    let name = ServerName::try_from("surefoot").expect("a name");
    let mut session = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let mut socket = socket;
    socket.until(Instant::now() + HANDSHAKE_MAX);
    while session.is_handshaking() {
        session.complete_io(&mut socket)?;
    }
    Ok(Line::over(StreamOwned::new(session, socket)))
}

fn own(pairing: &Pairing) -> io::Result<Arc<CertifiedKey>> {
    let key = PrivatePkcs8KeyDer::from(pairing.key.as_slice());
    let key = sign::any_eddsa_type(&key).map_err(io::Error::other)?;
    let public = key.public_key().ok_or_else(|| io::Error::other("the key has no public part"))?;
    let public = CertificateDer::from(public.as_ref().to_vec());
    Ok(Arc::new(CertifiedKey::new(vec![public], key)))
}

type Signature = Result<HandshakeSignatureValid, rustls::Error>;

/// Takes one key, whose owner must have its private part.
#[derive(Debug)]
struct Pinned {
    other: Vec<u8>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Pinned {
    fn of(pairing: &Pairing) -> Pinned {
        Pinned { other: pairing.other.clone(), algorithms: default_provider().signature_verification_algorithms }
    }

    fn is_it(&self, key: &CertificateDer) -> Result<(), rustls::Error> {
        let is_it = key.as_ref() == self.other.as_slice();
        if is_it { Ok(()) } else { Err(CertificateError::ApplicationVerificationFailure.into()) }
    }
}

/// What both sides check alike: who has signed, of raw keys. TLS 1.2 is not spoken.
macro_rules! of_raw_keys {
    () => {
        fn verify_tls12_signature(&self, _: &[u8], _: &CertificateDer, _: &DigitallySignedStruct) -> Signature {
            Err(rustls::Error::General("only TLS 1.3".into()))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            key: &CertificateDer,
            signed: &DigitallySignedStruct,
        ) -> Signature {
            let key = SubjectPublicKeyInfoDer::from(key.as_ref());
            verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        key: &CertificateDer,
        _: &[CertificateDer],
        _: &ServerName,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.is_it(key).map(|()| ServerCertVerified::assertion())
    }

    of_raw_keys!();
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        key: &CertificateDer,
        _: &[CertificateDer],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.is_it(key).map(|()| ClientCertVerified::assertion())
    }

    of_raw_keys!();
}
