//! A made log reads back, and is shaped as it was asked.

use super::*;
use crate::access_log::{self, Entry};
use proptest::prelude::*;

fn stream(seed: u64) -> impl FnMut() -> u64 {
    let mut random = random::SplitMix64::new(seed);
    move || random.next_u64()
}

/// Twenty pages of each kind, with a style that all share and a picture of their own.
fn site() -> Vec<Page> {
    let page = |number: usize| Page {
        host: "www.example.org".into(),
        target: format!("/page/{number}"),
        is_dynamic: !number.is_multiple_of(2),
        bytes: number.is_multiple_of(2).then_some(5000),
        assets: ["/style.css".to_string(), format!("/picture/{number}.png")]
            .map(|target| Asset { target, bytes: Some(700) })
            .into(),
    };
    (0..40).map(page).collect()
}

fn log(pages: &[Page], shape: &Shape, seed: u64) -> Vec<u8> {
    let mut text = Vec::new();
    let mut generator = Generator::new(pages, shape, stream(seed)).expect("a shape that can be had");
    generator.write_to(&mut text).expect("memory takes all");
    text
}

fn entries(log: &[u8]) -> Vec<Entry<'_>> {
    let lines = log.strip_suffix(b"\n").unwrap_or(log).split(|byte| *byte == b'\n');
    lines.map(|line| access_log::parse(line).expect("a line that is a request")).collect()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// The address that asked.
fn addresses(log: &[u8]) -> impl Iterator<Item = &str> {
    text(log).lines().filter_map(|line| line.split(' ').nth(1))
}

#[test]
fn a_line_is_of_vhost_combined() {
    let page = Page { assets: Vec::new(), ..site()[0].clone() };
    let shape = Shape {
        requests: 1,
        dynamic_share: 0.0,
        bot_share: 0.0,
        agents: &["a \"b\""],
        referers: &["http://x/"],
        ..Shape::default()
    };
    assert_eq!(
        text(&log(&[page], &shape, 1)),
        "www.example.org:80 10.21.2.128 - - [01/Jan/2026:00:00:00 +0000] \"GET /page/0 HTTP/1.1\" 200 5000 \"http://x/\" \"a \\\"b\\\"\"\n"
    );
}

#[test]
fn the_same_stream_gives_the_same_bytes() {
    let shape = Shape { requests: 2000, ..Shape::default() };
    assert_eq!(log(&site(), &shape, 5), log(&site(), &shape, 5));
    assert_ne!(log(&site(), &shape, 5), log(&site(), &shape, 6));
}

#[test]
fn pages_are_as_popular_as_asked() {
    for (exponent, dynamic_share) in [(0.0, 0.5), (0.8, 0.25), (1.2, 0.9)] {
        let shape = Shape { requests: 100_000, popularity_exponent: exponent, dynamic_share, ..Shape::default() };
        let text = log(&site(), &shape, 7);
        let mut views = [0.0; 40];
        for entry in entries(&text) {
            if let Some(number) = self::text(&entry.target).strip_prefix("/page/") {
                views[number.parse::<usize>().expect("a number")] += 1.0;
            }
        }
        let all: f64 = views.iter().sum();
        let dynamic: f64 = views.iter().skip(1).step_by(2).sum();
        assert!((dynamic / all - dynamic_share).abs() < 0.01, "{} of {dynamic_share}", dynamic / all);
        let weight = |number: usize| ((number / 2 + 1) as f64).powf(-exponent);
        let weights: f64 = (0..20).map(|rank| weight(2 * rank)).sum();
        for (number, found) in views.into_iter().enumerate() {
            let share = if number % 2 == 1 { dynamic_share } else { 1.0 - dynamic_share };
            let expected = all * share * weight(number) / weights;
            let deviation = (found - expected) / expected.sqrt();
            assert!(deviation.abs() < 4.5, "page {number}: {found} views, {expected} expected");
        }
    }
}

#[test]
fn sessions_have_as_many_pages_as_asked() {
    let shape = Shape { requests: 60_000, session_pages_mean: 4.0, ..Shape::default() };
    let pages: Vec<Page> = site().into_iter().map(|page| Page { assets: Vec::new(), ..page }).collect();
    let text = log(&pages, &shape, 3);
    let sessions: BTreeSet<&str> = addresses(&text).collect();
    let mean = 60_000.0 / sessions.len() as f64;
    assert!((mean - 4.0).abs() < 0.15, "{mean}");
}

#[test]
fn a_browser_loads_a_thing_once_and_robots_load_none() {
    let shape = Shape { requests: 20_000, session_pages_mean: 6.0, revalidated_share: 0.5, ..Shape::default() };
    let text = log(&site(), &shape, 9);
    let (mut loaded, mut kept, mut repeated) = (BTreeSet::new(), 0, 0);
    for (address, entry) in addresses(&text).zip(entries(&text)) {
        let is_page = entry.target.starts_with(b"/page/");
        assert!(is_page || *entry.agent != *BOT_AGENTS[0].as_bytes());
        match entry.status {
            304 => kept += 1,
            _ if !is_page => repeated += usize::from(!loaded.insert((address, entry.target.to_vec()))),
            _ => {}
        }
    }
    assert!(kept > 1000, "{kept} of 304");
    // Two sessions may have the same address.
    assert!(repeated < 10, "{repeated} of {}", loaded.len());
    let without = Shape { revalidated_share: 0.0, ..shape };
    assert!(entries(&log(&site(), &without, 9)).iter().all(|entry| entry.status == 200));
}

/// Variance over mean of sessions a minute, and their mean; 1 is Poisson's.
fn dispersion(shape: &Shape) -> (f64, f64) {
    let pages: Vec<Page> = site().into_iter().map(|page| Page { assets: Vec::new(), ..page }).collect();
    let text = log(&pages, shape, 11);
    let minutes = entries(&text).iter().map(|entry| entry.unix_microseconds / 60_000_000).collect::<Vec<_>>();
    let (first, last) = (minutes[0], minutes[minutes.len() - 1]);
    let mut counts = vec![0.0; (last - first) as usize];
    minutes.iter().filter(|minute| **minute < last).for_each(|minute| counts[(minute - first) as usize] += 1.0);
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (counts.len() - 1) as f64;
    (variance / mean, mean)
}

#[test]
fn arrivals_are_poisson_or_come_in_bursts() {
    let even = Shape { requests: 200_000, session_pages_mean: 1.0, burst_factor: 1.0, ..Shape::default() };
    let (of_even, mean) = dispersion(&even);
    assert!((of_even - 1.0).abs() < 0.1 && (mean - 60.0).abs() < 1.0, "{of_even}, {mean} a minute");
    let (of_bursts, mean) = dispersion(&Shape { burst_factor: 10.0, ..even });
    assert!(of_bursts > 5.0 && (mean - 60.0).abs() < 10.0, "{of_bursts}, {mean} a minute");
}

#[test]
fn what_waits_does_not_grow_with_the_log() {
    let (pages, shape) = (site(), Shape { requests: u64::MAX, ..Shape::default() });
    let mut generator = Generator::new(&pages, &shape, stream(2)).expect("a shape");
    let (mut line, mut most) = (Vec::new(), [0; 2]);
    for half in &mut most {
        for _ in 0..200_000 {
            generator.next(&mut line);
            line.clear();
            *half = generator.waiting.len().max(*half);
        }
    }
    assert!(most[1] < 2 * most[0] && most[0] < 1000, "{most:?}");
}

#[test]
fn what_can_not_be_had_is_refused() {
    let refused = |pages: &[Page], shape: &Shape| match Generator::new(pages, shape, || 0) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    let shape = Shape::default();
    assert_eq!(refused(&site(), &shape), "");
    assert_eq!(refused(&site()[..1], &shape), "there is no dynamic page, and their share of views is above 0");
    let lost = Page { target: "index.html".into(), ..site()[0].clone() };
    assert_eq!(
        refused(&[lost, site()[1].clone()], &shape),
        "www.example.orgindex.html can't stand in a log: a host is visible ASCII, a target begins with /"
    );
}

proptest! {
    #[test]
    fn every_line_reads_back_in_the_order_of_time(
        names in proptest::collection::vec((r"[a-z0-9.:-]{1,20}", r"/\PC{0,30}"), 1..20),
        seed in any::<u64>(),
        start in 0i64..250_000_000_000,
        session_pages_mean in 1.0f64..20.0,
        think_seconds_mean in 0.0f64..100.0,
        burst_factor in 1.0f64..50.0,
    ) {
        let page = |(number, (host, target)): (usize, &(String, String))| Page {
            host: host.clone(),
            target: target.clone(),
            is_dynamic: number % 2 == 0,
            bytes: (number % 3 > 0).then_some(number as u64),
            assets: vec![Asset { target: format!("{target}?asset"), bytes: Some(9) }; number % 4],
        };
        let pages: Vec<Page> = names.iter().enumerate().map(page).collect();
        let urls: BTreeMap<(&str, &str), Option<u64>> =
            pages.iter().map(|page| ((page.host.as_str(), page.target.as_str()), page.bytes)).collect();
        let dynamic_share = if pages.len() > 1 { 0.5 } else { 1.0 };
        let shape = Shape {
            requests: 300, dynamic_share, session_pages_mean, think_seconds_mean, burst_factor,
            start_unix_seconds: start, ..Shape::default()
        };
        let text = log(&pages, &shape, seed);
        let entries = entries(&text);
        prop_assert_eq!(entries.len(), 300);
        prop_assert_eq!(entries[0].unix_microseconds, start * 1_000_000);
        prop_assert!(entries.windows(2).all(|pair| pair[0].unix_microseconds <= pair[1].unix_microseconds));
        for entry in &entries {
            let (host, target) = (self::text(entry.host.as_ref().expect("a host")), self::text(&entry.target));
            let of_page = target.strip_suffix("?asset").unwrap_or(target);
            prop_assert!(urls.contains_key(&(host, target)) || urls.contains_key(&(host, of_page)), "{} {}", host, target);
        }
    }
}
