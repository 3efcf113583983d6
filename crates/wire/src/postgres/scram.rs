//! SCRAM-SHA-256 without channel binding, as PostgreSQL asks for passwords (RFC 5802 and 7677).

use crate::Error;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2};
use std::num::NonZeroU32;

/// The method's name.
pub const METHOD: &str = "SCRAM-SHA-256";

/// More rounds than any server has: a password's hash is to end.
const ROUNDS_MAX: u32 = 10_000_000;

/// One log-in.
pub struct Scram {
    nonce: String,
    /// The server's last word, if it knows the password, too.
    expected: String,
}

impl Scram {
    /// With a nonce of one's own.
    pub fn new(nonce: String) -> Scram {
        Scram { nonce, expected: String::new() }
    }

    /// What is sent first. PostgreSQL takes the user's name from the start-up packet.
    pub fn first(&self) -> String {
        format!("n,,{}", self.first_bare(""))
    }

    fn first_bare(&self, user: &str) -> String {
        format!("n={user},r={}", self.nonce)
    }

    /// The answer to the server's first word.
    ///
    /// # Errors
    /// When that can't be read, or is no answer to ours.
    pub fn proof(&mut self, server_first: &str, user: &str, password: &str) -> Result<String, Error> {
        let wrong = |what: &str| Error::Protocol(format!("its {METHOD} has {what}"));
        let field = |name: &str| server_first.split(',').find_map(|field| field.strip_prefix(name));
        let nonce = field("r=").filter(|nonce| nonce.starts_with(&self.nonce)).ok_or_else(|| wrong("another nonce"))?;
        let salt = field("s=").and_then(|salt| STANDARD.decode(salt).ok()).ok_or_else(|| wrong("no salt"))?;
        let rounds = field("i=").and_then(|rounds| rounds.parse().ok()).filter(|rounds| *rounds <= ROUNDS_MAX);
        let rounds = rounds.and_then(NonZeroU32::new).ok_or_else(|| wrong("no number of rounds"))?;
        let mut salted = [0; digest::SHA256_OUTPUT_LEN];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &salt, password.as_bytes(), &mut salted);
        let sign = |key: &[u8], text: &[u8]| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text);
        let without_proof = format!("c=biws,r={nonce}");
        let message = format!("{},{server_first},{without_proof}", self.first_bare(user));
        let client_key = sign(&salted, b"Client Key");
        let stored = digest::digest(&digest::SHA256, client_key.as_ref());
        let signature = sign(stored.as_ref(), message.as_bytes());
        let proof: Vec<u8> = client_key.as_ref().iter().zip(signature.as_ref()).map(|(a, b)| a ^ b).collect();
        let server_key = sign(&salted, b"Server Key");
        self.expected = format!("v={}", STANDARD.encode(sign(server_key.as_ref(), message.as_bytes())));
        Ok(format!("{without_proof},p={}", STANDARD.encode(proof)))
    }

    /// Whether the server's last word shows that it knows the password.
    pub fn is_known_to(&self, server_final: &str) -> bool {
        !self.expected.is_empty() && server_final.split(',').next() == Some(&self.expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7677, section 3.
    #[test]
    fn the_standards_example() {
        let mut scram = Scram::new("rOprNGfwEbeRWgbNEkqO".into());
        let server_first = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let proof = scram.proof(server_first, "user", "pencil").expect("a proof");
        assert!(proof.ends_with(",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="), "{proof}");
        assert!(scram.is_known_to("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        assert!(!scram.is_known_to("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5="));
        for wrong in ["r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "r=rOprNGfwEbeRWgbNEkqOx,i=4096", "", "e=x"] {
            assert!(scram.proof(wrong, "", "pencil").is_err(), "{wrong}");
        }
    }
}
