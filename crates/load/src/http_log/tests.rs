//! A log's tasks, its parts, and which log is refused.

use super::*;
use proptest::prelude::*;

fn log(path: &Path) -> Log {
    Log {
        path: path.into(),
        text: None,
        requests_max: 0,
        others: Others::Skipped,
        hosts: Hosts { default: String::new(), is_one: true, map: BTreeMap::new() },
        expected: Expected::Nothing,
        keep_alive: true,
        body_text: None,
        bytes_max: u64::MAX,
    }
}

/// A log of such requests, each with what its line has after them.
fn log_of(lines: &[(&str, &str)]) -> Log {
    let line =
        |(request, rest): &(&str, &str)| format!("h - - [28/Feb/2024:00:00:00 +0000] \"{request} HTTP/1.1\" {rest}\n");
    let text: String = lines.iter().map(line).collect();
    Log { text: Some(text.into_bytes().into()), ..log(Path::new("")) }
}

/// What its answers are held against.
fn tasks(log: &Log) -> Vec<Task> {
    let mut source = log.source(Pace::Closed).expect("read");
    std::iter::from_fn(|| source.next(&mut Vec::new()).expect("a request")).collect()
}

#[test]
fn a_page_has_the_size_of_its_file() {
    let mut log = log_of(&[
        ("GET /a?b", "200 5"),
        ("GET /a", "304 0"),
        ("HEAD /a", "200 0"),
        ("GET /a", "404 9"),
        ("GET /d", "200 7"),
        ("GET /d/", "206 4"),
        ("GET /d/e", "200 -"),
        ("GET /../f", "200 3"),
    ]);
    log.body_text = Some(Arc::from(&b"hi"[..]));
    let files = super::site::files(&log).expect("read");
    log.expected = Expected::Pages(Arc::new(super::site::sizes(files)));
    let expected: Vec<_> =
        tasks(&log).into_iter().map(|task| (task.status, task.body_bytes, task.body_text.is_some())).collect();
    let page = Status::Class(2);
    assert_eq!(
        expected,
        [
            (page, Some(5), true),
            (page, Some(5), true),
            (page, None, false),
            (Status::NoFailure, None, false),
            // A server leads on to the folder's index, or sends it.
            (Status::PageOrRedirect, None, false),
            (page, Some(7), true),
            (page, Some(2), true),
            (Status::NoFailure, None, false),
        ]
    );
    assert!([200, 301, 404, 500].map(|status| Status::PageOrRedirect.allows(status)) == [true, true, false, false]);
}

/// As varnishncsa has each request.
#[test]
fn a_page_that_was_asked_for_by_its_whole_url_is_a_file() {
    let log = log_of(&[("GET http://a.example:80/a?b", "200 5"), ("GET http://b.example", "200 7")]);
    let files = super::site::files(&log).expect("read");
    assert_eq!(files, BTreeMap::from([(PathBuf::from("a"), 5), (PathBuf::from("index.html"), 7)]));
    let expected = Expected::Pages(Arc::new(super::site::sizes(files)));
    let log = Log { expected, hosts: Hosts { is_one: false, ..log.hosts.clone() }, ..log };
    let (mut source, mut request) = (log.source(Pace::Closed).expect("read"), Vec::new());
    let task = source.next(&mut request).expect("read").expect("a request");
    assert_eq!((task.status, task.body_bytes), (Status::Class(2), Some(5)));
    let request = String::from_utf8(request).expect("text");
    assert!(request.starts_with("GET /a?b HTTP/1.1\r\nHost: a.example\r\n"), "{request}");
}

/// `/` is on no server a page where `index.html` is a folder, and a file can't be made below a file.
#[test]
fn nothing_lies_below_an_index() {
    let mut log = log_of(&[
        ("GET /", "200 5"),
        ("GET /index.html/", "200 6"),
        ("GET /a", "200 7"),
        ("GET /a/index.html/b", "200 8"),
    ]);
    let files = super::site::files(&log).expect("read");
    assert_eq!(files, BTreeMap::from([(PathBuf::from("index.html"), 5), (PathBuf::from("a"), 7)]));
    log.expected = Expected::Pages(Arc::new(super::site::sizes(files)));
    let statuses: Vec<Status> = tasks(&log).into_iter().map(|task| task.status).collect();
    assert_eq!(statuses, [Status::Class(2), Status::NoFailure, Status::Class(2), Status::NoFailure]);
}

/// Each answer to a form that was sent empty was of a wrong size.
#[test]
fn an_answer_to_what_the_log_does_not_have_may_have_any_size() {
    let lines = [("POST /form", "200 512"), ("GET /a", "200 5"), ("HEAD /a", "200 5"), ("GET /a", "206 3")];
    let log = Log { others: Others::WithBody(Vec::new()), expected: Expected::Size, ..log_of(&lines) };
    let sizes: Vec<_> = tasks(&log).iter().map(|task| task.body_bytes).collect();
    assert_eq!(sizes, [None, Some(5), None, None]);
}

/// A blog's pages are one program with many queries: each became as large as the largest, and the figures' notes said "of the logged sizes".
#[test]
fn what_a_path_of_several_sizes_is_sent_as_is_counted() {
    let pages = [("GET /index.php?p=1", "200 1000"), ("GET /index.php?p=2", "200 9000"), ("GET /a", "200 50")];
    let others = [("HEAD /a", "200 50"), ("GET /a", "304 0"), ("GET /a", "206 7"), ("GET /index.php?p=3", "404 7")];
    let log = log_of(&[&pages[..], &others[..]].concat());
    let sizes = super::site::sizes(super::site::files(&log).expect("read"));
    let survey = Log { expected: Expected::Pages(Arc::new(sizes)), ..log }.survey().expect("read");
    assert_eq!((survey.logged_bytes, survey.served_bytes), (10_050, 18_050));
}

/// lighttpd answers 501 to PUT, DELETE and PATCH on files, where others say 405.
#[test]
fn a_server_without_a_method_has_not_failed() {
    let log = Log { others: Others::WithBody(Vec::new()), ..log_of(&[("PUT /a", "200 5"), ("GET /a", "200 5")]) };
    let files = super::site::files(&log).expect("read");
    let log = Log { expected: Expected::Pages(Arc::new(super::site::sizes(files))), ..log };
    let right: Vec<_> = tasks(&log).iter().map(|task| [200, 405, 501, 503].map(|to| task.status.allows(to))).collect();
    assert_eq!(right, [[true, true, true, false], [true, false, false, false]]);
}

/// Two machines' logs of one hour, and two days in the wrong order. A log of one machine has its long downloads late.
#[test]
fn a_log_that_goes_back_in_time_is_not_replayed_by_its_times() {
    let line = |hours: usize, minute: usize| {
        let (day, hour) = (27 + hours / 24, hours % 24);
        format!("h - - [{day}/Feb/2024:{hour:02}:{minute:02}:00 +0000] \"GET / HTTP/1.1\" 200 1\n")
    };
    let hour = |hours: usize| (0..60).map(move |minute| line(hours, minute)).collect::<String>();
    let said = |text: String, pace: Pace| {
        let log = Log { text: Some(text.into_bytes().into()), ..log(Path::new("")) };
        disordered(&log.survey().expect("read"), pace)
    };
    let logged = Pace::AsLogged(1.0);
    assert_eq!(said(hour(24) + &hour(25), logged), None);
    let machines = said(hour(24) + &hour(24), logged).expect("refused");
    assert!(machines.starts_with("49 of 120 requests lie more than 10 minutes behind"), "{machines}");
    assert!(said(hour(24) + &hour(0), logged).is_some_and(|said| said.starts_with("60 of 120 requests")));
    assert_eq!(said(hour(24) + &hour(0), Pace::Closed), None, "nobody looks at its times");
    assert_eq!(said(hour(24) + &line(24, 0).repeat(3), logged), None);
    // Apache's time is that of the request, and it logs a web socket when it is closed.
    let with_sockets = (0..60).map(|minute| line(27, minute) + &line(24, minute)).collect::<String>();
    assert_eq!(said(with_sockets, logged), None, "each is sent beside its neighbours");
}

/// Nobody changes to another protocol, is late or leaves again.
#[test]
fn what_the_client_did_is_not_asked_of_the_server() {
    let logged = [200, 304, 101, 404, 408, 499, 503];
    let lines = logged.map(|status| format!("{status} 5"));
    let mut log = log_of(&lines.each_ref().map(|rest| ("GET /a", rest.as_str())));
    for expected in [Expected::Status, Expected::Size] {
        log.expected = expected;
        let found: Vec<Status> = tasks(&log).into_iter().map(|task| task.status).collect();
        let (page, any) = (Status::Class(2), Status::NoFailure);
        assert_eq!(found, [page, page, any, Status::Class(4), any, any, Status::Class(5)]);
    }
}

proptest! {
    #[test]
    fn parts_go_round_the_log_and_leave_nothing_out(
        length in 0usize..9,
        skipped in 0usize..9,
        parts in proptest::collection::vec(0usize..9, 0..6),
    ) {
        let line = |number| format!("h - - [28/Feb/2024:00:00:00 +0000] \"GET /{number} HTTP/1.1\" 200 1\n");
        let text: String = (0..length).map(line).collect();
        let log = Log { text: Some(text.into_bytes().into()), ..log(Path::new("")) };
        let mut next_part = Parts::after(log, skipped as u64).expect("read");
        let mut sent = Vec::new();
        for part in &parts {
            // After the last request comes the first: the end is the beginning.
            let begin = (skipped + sent.len()) as u64;
            prop_assert!(length == 0 || next_part.begin() % length as u64 == begin % length as u64);
            let mut source = next_part.next(*part as u64);
            let mut request = Vec::new();
            while source.next(&mut request).expect("read").is_some() {
                sent.push(String::from_utf8(std::mem::take(&mut request)).expect("text"));
            }
        }
        let wanted = if length == 0 { 0 } else { parts.iter().sum() };
        prop_assert_eq!(sent.len(), wanted);
        for (place, request) in sent.iter().enumerate() {
            let target = format!("GET /{} HTTP/1.1", (skipped + place) % length);
            prop_assert!(request.starts_with(&target), "{} is no {}", request, target);
        }
    }

    #[test]
    fn a_log_is_refused_above_the_share_of_bad_lines_whatever_they_are(
        lines in proptest::collection::vec((0usize..8, proptest::collection::vec(any::<u8>(), 0..80)), 1..60),
        bad_lines_max in 0.0f64..=1.0,
    ) {
        let good = b"h - - [28/Feb/2024:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1";
        let line = |(kind, bytes): &(usize, Vec<u8>)| match kind {
            0..=4 => good.to_vec(),
            // Up to its status at most.
            5 => good[..bytes.len().min(52)].to_vec(),
            // Text comes first, lest random bytes look like gzip.
            6 => [b"no request", &bytes.iter().filter(|byte| **byte != b'\n').copied().collect::<Vec<u8>>()[..]].concat(),
            _ => vec![b'x'; 1 << 20],
        };
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), lines.iter().map(line).collect::<Vec<_>>().join(&b'\n')).expect("written");
        let survey = log(file.path()).survey().expect("read");
        let bad: Vec<usize> = (1..=lines.len()).filter(|number| lines[number - 1].0 > 4).collect();
        // An empty last line without an end is no line.
        let is_ended = lines.last().is_some_and(|(kind, bytes)| *kind == 5 && bytes.is_empty());
        let (bad, all) = if is_ended { (&bad[..bad.len() - 1], lines.len() - 1) } else { (&bad[..], lines.len()) };
        prop_assert_eq!((survey.lines, survey.rejects.count()), (all as u64, bad.len() as u64));
        let said = refuse(file.path(), &survey, bad_lines_max);
        let is_refused = bad.len() == all || bad.len() as f64 / all as f64 > bad_lines_max;
        prop_assert_eq!(said.is_some(), is_refused, "{:?}", said);
        if let (Some(said), Some(first)) = (said, bad.first()) {
            prop_assert!(said.contains(&format!("(line {first}")) || said.contains(&format!("(lines {first}")), "{}", said);
        }
    }
}
