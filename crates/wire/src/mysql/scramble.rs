//! How a password is proved without being sent (the manual's "Native 41" and "Caching SHA-2" in "MySQL Source Code Documentation",
//! "Authentication Methods").

use ring::digest::{Algorithm, Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

/// The answer to a server's scramble by the method of this name; none: it is not known.
pub fn answer(method: &str, password: &str, scramble: &[u8]) -> Option<Vec<u8>> {
    if password.is_empty() {
        return Some(Vec::new());
    }
    let hash = |algorithm: &'static Algorithm, parts: [&[u8]; 2]| {
        let mut context = Context::new(algorithm);
        parts.iter().for_each(|part| context.update(part));
        context.finish().as_ref().to_vec()
    };
    let (algorithm, is_scramble_first) = match method {
        "mysql_native_password" => (&SHA1_FOR_LEGACY_USE_ONLY, true),
        "caching_sha2_password" => (&SHA256, false),
        _ => return None,
    };
    let once = hash(algorithm, [password.as_bytes(), b""]);
    let twice = hash(algorithm, [&once, b""]);
    let mixed = hash(algorithm, if is_scramble_first { [scramble, &twice] } else { [&twice, scramble] });
    Some(once.iter().zip(&mixed).map(|(a, b)| a ^ b).collect())
}
