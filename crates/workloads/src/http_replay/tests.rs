//! What a log's site takes, which scenarios share one, and what is refused before a trial.

use super::*;
use crate::workload_tests::read;
use load::http_log::Survey;
use serde_json::json;
use std::io::Write as _;
use tempfile::NamedTempFile;

/// A log of such targets, each with its status and size.
fn log(lines: &[(&str, &str)]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a file");
    for (target, answer) in lines {
        writeln!(file, "h - - [28/Feb/2024:00:00:00 +0000] \"GET {target} HTTP/1.1\" {answer}").expect("written");
    }
    file
}

fn of_log(file: &NamedTempFile) -> Box<dyn WorkloadSettings> {
    read(&KIND, &json!({ "log": file.path() }))
}

/// A wiki's log was replayed with 83 times its bytes, without a word: one page of a hundred was large, and all were one path.
#[test]
fn pages_that_are_larger_than_the_log_has_them_are_noted() {
    let said = log_site::note_of_sizes((10_050, 18_050)).expect("80 % more");
    assert!(said.contains("17.6KiB are sent where the log has 9.8KiB"), "{said}");
    assert_eq!((log_site::note_of_sizes((1000, 1100)), log_site::note_of_sizes((0, 0))), (None, None));
    assert!(log_site::note_of_sizes((1000, 1111)).is_some());
}

#[test]
fn a_log_takes_its_files() {
    let (one, other) = (log(&[("/a", "200 5000"), ("/b", "304 0"), ("/c", "404 9999")]), log(&[("/a", "200 10")]));
    for _ in 0..2 {
        assert_eq!(of_log(&one).estimate().data_bytes, 5000 + 4096);
        assert_eq!(of_log(&other).estimate().data_bytes, 4096);
    }
    assert!(of_log(&one).estimate().load_seconds > 0.0);
    let missing = json!({ "log": "/nowhere/access.log" });
    assert_eq!(read(&KIND, &missing).estimate().data_bytes, 0);
}

#[test]
fn a_run_at_a_pace_of_its_own_has_a_length() {
    let mut hour = log(&[("/a", "200 5")]);
    writeln!(hour, "h - - [28/Feb/2024:01:00:00 +0000] \"GET /a HTTP/1.1\" 200 5").expect("written");
    let takes = |more: Value| {
        let mut written = json!({ "log": hour.path() });
        written.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        let load = read(&KIND, &written);
        (load.estimate().run_seconds, load.is_by_the_clock())
    };
    assert_eq!(takes(json!({})), (0.0, false), "that is the server's matter");
    assert_eq!(takes(json!({ "speed": 2.0 })), (1800.0, true));
    assert_eq!(takes(json!({ "speed": 2.0, "requests": 1 })), (0.0, true));
    assert_eq!(takes(json!({ "rate": 0.5 })), (4.0, true));
    assert_eq!(takes(json!({ "rate": 0.5, "calls": 2 })), (2.0, true));
    assert_eq!(takes(json!({ "rate": 0.5, "requests_per_run": 50 })), (100.0, true));
    let cms = json!({ "site": "cms", "log": "", "requests": 300, "rate": 10.0 });
    assert_eq!(takes(cms), (30.0, true));
}

#[test]
fn an_answer_of_an_absurd_size_is_a_problem() {
    let absurd = of_log(&log(&[("/a", "200 5"), ("/iso", "200 18446744073709551615")])).problems();
    assert!(absurd.len() == 1 && absurd[0].contains("/iso has 18446744073709551615 bytes"), "{absurd:?}");
    assert_eq!(of_log(&log(&[("/iso", "200 1099511627776")])).problems(), Vec::<String>::new());
}

/// Its requests were all answered "not found", which was the right answer to each, and nothing said so.
#[test]
fn a_log_without_a_page_makes_no_site() {
    let led_on = of_log(&log(&[("/", "301 169"), ("/a", "301 169"), ("/b", "404 9")])).problems();
    assert!(led_on.len() == 1 && led_on[0].contains("had a page (2xx) as its answer"), "{led_on:?}");
    assert_eq!(of_log(&log(&[("/", "301 169"), ("/a", "304 0")])).problems(), Vec::<String>::new());
    let empty = of_log(&log(&[])).problems();
    assert!(empty.len() == 1 && empty[0].contains("no request that can be replayed"), "{empty:?}");
}

/// Lines that are left out do not count among the requests, so that the site has more of the log.
#[test]
fn scenarios_share_a_site_where_they_read_the_same_lines() {
    let file = log(&[("/a", "200 5")]);
    let key = |others: &str, body: &str| {
        read(&KIND, &json!({ "log": file.path(), "other_methods": others, "body": body })).data_key()
    };
    assert_ne!(key("skip", ""), key("without-body", ""));
    assert_eq!(key("with-body", "x"), key("without-body", ""));
}

#[test]
fn a_server_with_virtual_hosts_is_refused() {
    let file = log(&[("/a", "200 5")]);
    let problems = |service: &str, has_hosts: bool, written: Value| {
        let settings = json!({ "virtual_hosts": has_hosts }).as_object().expect("a table").clone();
        read(&KIND, &written).problems_beside(&BTreeMap::from([(service.to_string(), settings)])).len()
    };
    let from_log = || json!({ "log": file.path(), "server": "nginx" });
    assert_eq!(problems("nginx", true, from_log()), 1);
    assert_eq!(problems("nginx", false, from_log()), 0);
    assert_eq!(problems("apache", true, from_log()), 0, "it serves another workload");
    assert_eq!(problems("nginx", true, json!({ "site": "cms" })), 0);
}

#[test]
fn a_site_of_programs_on_hosts_is_refused_where_the_server_has_none() {
    let problems = |server: &str, settings: Value| {
        let settings = settings.as_object().expect("a table").clone();
        let load = read(&KIND, &json!({ "site": "cms", "server": server }));
        load.problems_beside(&BTreeMap::from([(server.to_string(), settings)])).join("; ")
    };
    assert_eq!(problems("nginx", json!({ "virtual_hosts": true, "php": "fpm" })), "");
    let neither = problems("nginx", json!({ "virtual_hosts": false, "php": "none" }));
    assert!(neither.contains("`service.nginx.virtual_hosts` to true") && neither.contains("`service.nginx.php` is"));
    assert!(problems("django", json!({})).contains("take another `server`"));
}

/// Its files are noise, and those of other servers are sent as they are.
#[test]
fn a_server_that_would_run_a_logs_files_is_refused() {
    let problems = |target: &str, php: &str| {
        let file = log(&[("/a", "200 5"), (target, "200 5")]);
        let settings = json!({ "php": php }).as_object().expect("a table").clone();
        let load = read(&KIND, &json!({ "log": file.path(), "server": "lighttpd" }));
        load.problems_beside(&BTreeMap::from([("lighttpd".to_string(), settings)]))
    };
    let found = problems("/blog/wp-login.php?x=y", "cgi");
    assert!(found.len() == 1 && found[0].contains("run its /blog/wp-login.php as a program"), "{found:?}");
    assert_eq!(problems("/blog/wp-login.php", "none"), [""; 0]);
    assert_eq!(problems("/blog/about", "cgi"), [""; 0]);
}

#[test]
fn redirects_that_count_as_right_are_said() {
    assert!(log_site::note_of_redirects(20).is_some_and(|note| note.contains("`status_3xx`")));
    assert_eq!(log_site::note_of_redirects(0), None);
}

#[test]
fn what_a_log_does_not_tell_of_its_site_is_said() {
    let notes = |hosts: &[&str]| {
        let hosts = hosts.iter().map(|host| ((*host).to_string(), 1)).collect();
        log_site::notes(&Survey { hosts, ..Survey::default() })
    };
    let cases: [&[&str]; 3] = [&[], &["a.example"], &["a.example", "b.example"]];
    for hosts in cases {
        let all = notes(hosts);
        assert!(all[0].contains("files here") && all.len() == 1 + usize::from(hosts.len() > 1), "{all:?}");
    }
    assert!(notes(&["a.example", "b.example"])[1].starts_with("the 2 virtual hosts"));
}
