//! The kernel's command line without what tells one machine from another: it may hold addresses, host names, disk ids.

/// Parameters whose value names a machine, whatever it looks like.
const NAMING: &[&str] =
    &["host", "name", "uuid", "serial", "label", "bootif", "user", "pass", "key", "token", "secret", "domain"];

/// A value longer than this says more than a setting does.
const VALUE_LENGTH_MAX: usize = 48;

/// The parameters, with the values that may name a machine, its disks or its network as `…`.
pub fn redacted(text: &str, host: &str) -> String {
    // What follows ` -- ` is for init, not for the kernel.
    let words = text.split_ascii_whitespace().take_while(|word| *word != "--");
    let shown = words.map(|word| match word.split_once('=') {
        Some((name, value)) if !may_be_told(name, host) => format!("…={}", if value.is_empty() { "" } else { "…" }),
        Some((name, value)) if names_machine(name) || !may_be_told(value, host) => format!("{name}=…"),
        None if !may_be_told(word, host) => "…".into(),
        _ => word.to_string(),
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn names_machine(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMING.iter().any(|part| name.contains(part))
}

/// Plain words and numbers, as settings are; no path, address, id or host name.
fn may_be_told(value: &str, host: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ',' | '.' | '+');
    let has_host = || value.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|word| word == host);
    value.len() <= VALUE_LENGTH_MAX && value.chars().all(plain) && !is_address(value) && !has_id(value) && !has_host()
}

/// Four numbers with points between them (IPv4), or six pairs of hexadecimal digits (a network card's).
fn is_address(value: &str) -> bool {
    let numbers = value.split(|c: char| !c.is_ascii_digit() && c != '.');
    let hexadecimal = |part: &&str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    numbers.into_iter().any(|number| number.split('.').filter(|part| !part.is_empty()).count() >= 4)
        || value.split(['-', '.']).filter(hexadecimal).count() >= 6
}

/// A long run of hexadecimal digits that is no plain number.
fn has_id(value: &str) -> bool {
    let mut runs = value.split(|c: char| !c.is_ascii_hexdigit());
    runs.any(|run| run.len() >= 8 && run.bytes().any(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::redacted;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(redacted(text, "web1"), expect);
    }

    #[test]
    fn settings_stay() {
        let settings =
            "quiet mitigations=auto,no_guest_host isolcpus=2-5 processor.max_cstate=1 idle=poll psi=1 hugepages=512 ro";
        check(settings, settings);
    }

    #[test]
    fn what_names_a_machine_goes() {
        check("root=/dev/vda1 ro", "root=… ro");
        check("root=UUID=0a1b2c3d-1111-2222-3333-444455556666", "root=…");
        check("root=PARTUUID=0a1b2c3d-01", "root=…");
        check("resume=0a1b2c3d4e5f", "resume=…");
        check("ip=10.0.0.5::10.0.0.1:255.255.255.0:web1:eth0:off", "ip=…");
        check("ip=dhcp nameserver=10.0.0.1", "ip=dhcp nameserver=…");
        check("netroot=10.0.0.1", "netroot=…");
        check("BOOTIF=01-aa-bb-cc-dd-ee-ff", "BOOTIF=…");
        check("mac=aa:bb:cc:dd:ee:ff", "mac=…");
        check("systemd.hostname=other title=web1 web1", "systemd.hostname=… title=… …");
        check("ds=nocloud;s=http://10.0.0.1/", "ds=…");
        check("quiet -- --addr 0.0.0.0:2024", "quiet");
    }

    proptest! {
        #[test]
        fn no_text_breaks_it_and_no_address_passes(text in "\\PC{0,60}", a in 0_u8.., b in 0_u8.., c in 0_u8.., d in 0_u8..) {
            let _ = redacted(&text, "web1");
            let address = format!("{a}.{b}.{c}.{d}");
            let kept = redacted(&format!("x={address} {address} y=a,{address}"), "web1");
            prop_assert!(!kept.contains(&address));
        }
    }
}
