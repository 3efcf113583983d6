//! What the instructions of several servers share: lines that are shown and not put in place.

/// Lines behind a `#`, below the reason why they are; nothing where there are none.
pub fn held_back(why: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let all = std::iter::once(why).chain(lines.iter().map(String::as_str));
    all.map(|line| format!("# {line}\n")).collect()
}

#[cfg(test)]
pub mod tests {
    use crate::kinds;
    use serde_json::{Map, Value, json};
    use settings::configuration::{Configuration, Setup};

    /// What is printed of a service with these settings.
    pub fn printed(service: &str, recorded: Value, setup: &Setup) -> Vec<Configuration> {
        let recorded: Map<String, Value> = serde_json::from_value(recorded).expect("a table");
        crate::files(service, Some(&recorded), setup).expect("it is known")
    }

    /// Of a service that has one file.
    pub fn file(service: &str, recorded: Value, setup: &Setup) -> Configuration {
        let mut all = printed(service, recorded, setup);
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    #[test]
    fn lines_that_are_held_back_are_comments_all() {
        assert_eq!(super::held_back("why", &[]), "");
        assert_eq!(super::held_back("why", &["a = 1".into(), "b = 2".into()]), "# why\n# a = 1\n# b = 2\n");
    }

    /// What was measured without a log was put in place with it. The names are those of Debian 12's packages.
    #[test]
    fn a_server_without_an_access_log_is_put_in_place_without_it() {
        let said = |service: &str, recorded: Value| {
            let all = printed(service, recorded, &Setup::default());
            all.iter().map(|file| file.before.join("\n") + "\n" + &file.text).collect::<String>()
        };
        for (service, words) in [
            ("nginx", "access_log off;"),
            ("apache", "a2disconf other-vhosts-access-log"),
            ("lighttpd", "lighty-disable-mod accesslog"),
            ("caddy", "take `log` out"),
        ] {
            let without = said(service, json!({ "access_log": false }));
            assert!(without.contains(words), "{service}: {without}");
            assert!(!said(service, json!({ "access_log": true })).contains(words), "{service}");
        }
        let nginx = file("nginx", json!({ "access_log": false }), &Setup::default());
        assert!(nginx.path.starts_with("http {") && nginx.checks[0].contains("(access_log)"), "{nginx:?}");
    }

    /// Who leaves all defaults is told to change nothing. A database without a server is made anew, by a file of its own.
    #[test]
    fn defaults_change_no_file() {
        for kind in kinds().iter().filter(|kind| kind.listens || !kind.is_database) {
            let all = printed(kind.name, json!({}), &Setup::default());
            let texts: Vec<&str> = all.iter().map(|file| file.text.as_str()).collect();
            assert!(texts.iter().all(|text| text.is_empty()), "{}: {texts:?}", kind.name);
        }
    }
}
