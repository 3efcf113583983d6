//! What `openssl speed` measures: its algorithms, and its output for programs (`-mr`).
//!
//! Lines that begin with a plus sign are results, here from OpenSSL 3.0.19 (`apps/speed.c` prints them):
//! ```text
//! +F2:2:2048:2240.000000:30126.000000             RSA: row, bits, signatures and verifications per second
//! +F3:2:2048:957.000000:1353.921569               DSA, the same
//! +F4:3:256:9857.000000:3677.000000               ECDSA, the same
//! +F6:0:253:Ed25519:5569.306931:2795.000000       EdDSA: with the curve's name
//! +H:16384                                        sizes of blocks …
//! +F:25:AES-256-GCM:2198880256.00                 … and a cipher's or digest's bytes per second, size by size
//! ```
//! From 3.4 on RSA has two rates more, for encryption; they come last. With `-multi` each process's lines follow the word
//! `Got:`, and the sum's begin with the plus sign, without a `+H`.

/// An algorithm as `openssl speed` calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Algorithm {
    /// As the user wrote it, in small letters.
    pub name: String,
    /// How it is measured.
    pub family: Family,
}

/// Algorithms that are measured alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// A key of so many bits signs and verifies.
    Rsa(u32),
    /// The same.
    Dsa(u32),
    /// The same, on a NIST curve over a field of so many bits.
    Ecdsa(u32),
    /// The same, on Edwards curves.
    Eddsa,
    /// Ciphers and digests: blocks go through.
    Blocks,
}

const RSA_BITS: [u32; 7] = [512, 1024, 2048, 3072, 4096, 7680, 15360];
const DSA_BITS: [u32; 3] = [512, 1024, 2048];
const ECDSA_BITS: [u32; 4] = [224, 256, 384, 521];
const EDWARDS: [&str; 2] = ["ed25519", "ed448"];

impl Algorithm {
    /// Reads a name; a problem in words.
    pub fn parse(name: &str) -> Result<Algorithm, String> {
        let name = name.to_lowercase();
        let bits = |prefix: &str, known: &[u32]| {
            let bits = name.strip_prefix(prefix)?.parse().ok()?;
            known.contains(&bits).then_some(bits)
        };
        let family = if let Some(bits) = bits("rsa", &RSA_BITS) {
            Family::Rsa(bits)
        } else if let Some(bits) = bits("dsa", &DSA_BITS) {
            Family::Dsa(bits)
        } else if let Some(bits) = bits("ecdsap", &ECDSA_BITS) {
            Family::Ecdsa(bits)
        } else if EDWARDS.contains(&&*name) {
            Family::Eddsa
        } else if ["rsa", "dsa", "ecdsa", "eddsa", "ecdh"].iter().any(|family| name.starts_with(family)) {
            return Err(format!("`{name}` is none of {}", signatures()));
        } else if name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-/_".contains(&byte))
        {
            Family::Blocks
        } else {
            return Err(format!("{name:?} is no name of a cipher or digest"));
        };
        Ok(Algorithm { name, family })
    }

    /// What stands in its metrics' names: `rsa_2048`, `aes_256_gcm`.
    pub fn word(&self) -> String {
        match self.family {
            Family::Rsa(bits) => format!("rsa_{bits}"),
            Family::Dsa(bits) => format!("dsa_{bits}"),
            Family::Ecdsa(bits) => format!("ecdsa_p{bits}"),
            Family::Eddsa | Family::Blocks => self.name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_"),
        }
    }

    /// The two rates of a signature: per second, signed and verified.
    pub fn signature_rates(&self, output: &str) -> Result<[f64; 2], String> {
        let (mark, bits, rates_at) = match self.family {
            Family::Rsa(bits) => ("+F2:", Some(bits), 2),
            Family::Dsa(bits) => ("+F3:", Some(bits), 2),
            Family::Ecdsa(bits) => ("+F4:", Some(bits), 2),
            Family::Eddsa => ("+F6:", None, 3),
            Family::Blocks => unreachable!("a cipher signs nothing"),
        };
        let fields = only_line(output, mark)?;
        let found = fields.get(1).and_then(|field| field.parse().ok());
        if bits.is_some() && bits != found {
            return Err(format!("{mark} tells of another key than one of {} bits", bits.unwrap_or_default()));
        }
        if self.family == Family::Eddsa && !fields.get(2).is_some_and(|name| name.eq_ignore_ascii_case(&self.name)) {
            return Err(format!("{mark} tells of another curve than {}", self.name));
        }
        Ok([rate(&fields, rates_at, mark)?, rate(&fields, rates_at + 1, mark)?])
    }
}

/// Bytes per second of a cipher or digest with blocks of this size, the only one that was asked for.
pub fn block_rate(output: &str, block_bytes: u64) -> Result<f64, String> {
    if let Some(sizes) = output.lines().find_map(|line| line.strip_prefix("+H:"))
        && sizes.trim() != block_bytes.to_string()
    {
        return Err(format!("+H: tells of blocks of {}, not of {block_bytes} bytes", sizes.trim()));
    }
    let fields = only_line(output, "+F:")?;
    if fields.len() != 3 {
        return Err(format!("+F: has {} fields, not 3", fields.len()));
    }
    rate(&fields, 2, "+F:")
}

/// Names that can be signed with, in words.
fn signatures() -> String {
    let with = |prefix: &str, known: &[u32]| known.iter().map(|bits| format!("{prefix}{bits}")).collect::<Vec<_>>();
    let mut names = with("rsa", &RSA_BITS);
    names.extend(with("dsa", &DSA_BITS));
    names.extend(with("ecdsap", &ECDSA_BITS));
    names.extend(EDWARDS.map(String::from));
    names.join(", ")
}

fn only_line<'a>(output: &'a str, mark: &str) -> Result<Vec<&'a str>, String> {
    let mut lines = output.lines().filter_map(|line| line.strip_prefix(mark));
    match (lines.next(), lines.next()) {
        (Some(line), None) => Ok(line.trim().split(':').collect()),
        (None, _) => Err(format!("no line begins with {mark}")),
        (Some(_), Some(_)) => Err(format!("two lines begin with {mark}")),
    }
}

fn rate(fields: &[&str], at: usize, mark: &str) -> Result<f64, String> {
    let Some(text) = fields.get(at) else { return Err(format!("{mark} has {} fields only", fields.len())) };
    let value: Option<f64> = text.parse().ok();
    value.filter(|value| value.is_finite() && *value > 0.0).ok_or_else(|| format!("{mark} {text:?} is no rate"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(name: &str, output: &str, expected: Expect) {
        let algorithm = Algorithm::parse(name).unwrap();
        let shown = match algorithm.family {
            Family::Blocks => format!("{} {:?}", algorithm.word(), block_rate(output, 16384)),
            _ => format!("{} {:?}", algorithm.word(), algorithm.signature_rates(output)),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn what_openssl_3_0_19_printed() {
        check("rsa2048", "+F2:2:2048:2240.000000:30126.000000\n", expect!["rsa_2048 Ok([2240.0, 30126.0])"]);
        check("dsa2048", "+F3:2:2048:4336.170213:4795.238095\n", expect!["dsa_2048 Ok([4336.170213, 4795.238095])"]);
        check("ecdsap256", "+F4:3:256:50431.914894:16902.3\n", expect!["ecdsa_p256 Ok([50431.914894, 16902.3])"]);
        check("Ed25519", "+F6:0:253:Ed25519:29141.8:10756.25\n", expect!["ed25519 Ok([29141.8, 10756.25])"]);
        check("aes-256-gcm", "+H:16384\n+F:25:AES-256-GCM:2198880256.00\n", expect!["aes_256_gcm Ok(2198880256.0)"]);
        check("sha256", "+H:16384\n+F:25:sha256:561364992.00\n", expect!["sha256 Ok(561364992.0)"]);
    }

    #[test]
    fn of_several_processes_the_sum_is_taken() {
        check(
            "rsa2048",
            "Forked child 0\nForked child 1\nGot: +F2:2:2048:760.396040:10741.000000 from 0\n\
             Got: +F2:2:2048:688.118812:10362.000000 from 1\n+F2:2:2048:1448.514852:21103.000000\n",
            expect!["rsa_2048 Ok([1448.514852, 21103.0])"],
        );
        check(
            "sha256",
            "Forked child 0\nForked child 1\nGot: +H:16384 from 0\nGot: +F:25:sha256:278528000.00 from 0\n\
             Got: +H:16384 from 1\nGot: +F:25:sha256:282836992.00 from 1\n+F:25:sha256:561364992.00\n",
            expect!["sha256 Ok(561364992.0)"],
        );
    }

    #[test]
    fn rates_of_encryption_come_after_those_of_signatures() {
        check("rsa2048", "+F2:2:2048:1.5:2.5:3.5:4.5\n", expect!["rsa_2048 Ok([1.5, 2.5])"]);
    }

    #[test]
    fn malformed_output() {
        check("rsa2048", "", expect![[r#"rsa_2048 Err("no line begins with +F2:")"#]]);
        check("rsa2048", "+F2:2:2048:1.0\n", expect![[r#"rsa_2048 Err("+F2: has 3 fields only")"#]]);
        check("rsa2048", "+F2:2:2048:1.0:nan\n", expect![[r#"rsa_2048 Err("+F2: \"nan\" is no rate")"#]]);
        check("rsa2048", "+F2:2:2048:0.000000:1\n", expect![[r#"rsa_2048 Err("+F2: \"0.000000\" is no rate")"#]]);
        check(
            "rsa2048",
            "+F2:3:4096:1:1\n",
            expect![[r#"rsa_2048 Err("+F2: tells of another key than one of 2048 bits")"#]],
        );
        check("rsa2048", "+F2:2:2048:1:1\n+F2:2:2048:1:1\n", expect![[r#"rsa_2048 Err("two lines begin with +F2:")"#]]);
        check("ed448", "+F6:0:253:Ed25519:1:1\n", expect![[r#"ed448 Err("+F6: tells of another curve than ed448")"#]]);
        check(
            "sha256",
            "+H:16\n+F:25:sha256:1.0\n",
            expect![[r#"sha256 Err("+H: tells of blocks of 16, not of 16384 bytes")"#]],
        );
        check("sha256", "+F:25:sha256:1.0:2.0\n", expect![[r#"sha256 Err("+F: has 4 fields, not 3")"#]]);
        check("sha256", "+F:25:sha256:-1.0\n", expect![[r#"sha256 Err("+F: \"-1.0\" is no rate")"#]]);
    }

    #[test]
    fn names_that_are_none() {
        let problem = |name: &str| Algorithm::parse(name).unwrap_err();
        expect!["`rsa` is none of rsa512, rsa1024, rsa2048, rsa3072, rsa4096, rsa7680, rsa15360, dsa512, dsa1024, dsa2048, ecdsap224, ecdsap256, ecdsap384, ecdsap521, ed25519, ed448"]
            .assert_eq(&problem("rsa"));
        assert!(problem("rsa2047").starts_with("`rsa2047` is none of"));
        // No name becomes an option of the program.
        expect![[r#""-engine" is no name of a cipher or digest"#]].assert_eq(&problem("-engine"));
        expect![[r#""" is no name of a cipher or digest"#]].assert_eq(&problem(""));
    }

    proptest! {
        #[test]
        fn no_output_confuses_it(output in "(\\+F2?:|\\+H:|[0-9:.\n a-z+-]){0,40}") {
            for name in ["rsa2048", "ed25519"] {
                if let Ok(rates) = Algorithm::parse(name).unwrap().signature_rates(&output) {
                    prop_assert!(rates.iter().all(|rate| rate.is_finite() && *rate > 0.0));
                }
            }
            prop_assert!(block_rate(&output, 16).map_or(true, |rate| rate.is_finite() && rate > 0.0));
        }
    }
}
