//! Hosts that have files only: pages with styles, scripts and pictures, of sizes as they are found on web servers.

use super::content::{self, Article};
use super::site::Site;
use super::{Cms, HOSTS, Page, Places, Sizes, compare, hosts, label};
use load::noise::Noise;
use load::workload::Error;
use random::Random;
use std::path::Path;

/// Natural logarithm of the median size, and its standard deviation: Barford and Crovella, "Generating representative web
/// workloads", SIGMETRICS 1998, the body of the distribution of file sizes.
const LOG_BYTES: (f64, f64) = (9.357, 1.318);

/// Sizes above it would be a few files that decide the site's size.
const BYTES_MAX: f64 = 2e6;

/// Of so many files, the first are pages, one is a style, one a script, and the rest are pictures.
const CYCLE: usize = 20;
const CYCLE_PAGES: usize = 6;
const STYLE: usize = CYCLE_PAGES;
const SCRIPT: usize = STYLE + 1;

/// Pictures of a page, at most.
const PICTURES: u64 = 5;

/// What a file holds.
enum Body {
    Text(String),
    /// So many bytes that do not compress.
    Noise(u64),
}

/// A file of a host.
struct File {
    path: String,
    body: Body,
    /// Title, sentence and what is loaded with it, of a page.
    page: Option<(String, String, Vec<String>)>,
}

impl File {
    fn bytes(&self) -> u64 {
        match &self.body {
            Body::Text(text) => text.len() as u64,
            Body::Noise(bytes) => *bytes,
        }
    }
}

/// Writes the files.
pub fn install(site: &Site, seed: u64, sizes: Sizes) -> Result<(), Error> {
    let noise = Noise::new(seed);
    for host in hosts(Cms::Files) {
        for (number, file) in files(seed, sizes, host).into_iter().enumerate() {
            Error::if_interrupted(site.interrupted)?;
            let path = site.places.site.join(host).join(&file.path);
            site.folder(path.parent().expect("a file has a folder"))?;
            let bytes = match file.body {
                Body::Text(text) => text.into_bytes(),
                Body::Noise(size) => {
                    let mut bytes = vec![0; size as usize];
                    noise.fill(&mut bytes, number as u64);
                    bytes
                }
            };
            site.write(&path, bytes)?;
        }
    }
    Ok(())
}

/// Every file is there with its size.
pub fn verify(seed: u64, sizes: Sizes, places: Places, host: &str) -> Result<(), Error> {
    files(seed, sizes, host).into_iter().try_for_each(|file| {
        let path = places.site.join(host).join(&file.path);
        let found = std::fs::metadata(&path).map_err(Error::doing("look at", &path))?.len();
        compare("bytes of a file", &path.to_string_lossy(), file.bytes(), found)
    })
}

/// What such a host answers: its front page, which lists all pages, and every file.
pub fn pages(seed: u64, sizes: Sizes, host: &'static str) -> Vec<Page> {
    let page = |file: File| {
        let bytes = Some(file.bytes());
        let (title, sentence, assets) = file.page.unwrap_or_default();
        let target = format!("/{}", file.path.strip_suffix("index.html").unwrap_or(&file.path));
        Page { host, target, title, sentence, is_dynamic: false, bytes, assets }
    };
    files(seed, sizes, host).into_iter().map(page).collect()
}

/// The host's files, its front page first.
fn files(seed: u64, sizes: Sizes, host: &str) -> Vec<File> {
    let stream = HOSTS.iter().position(|known| known.0 == host).expect("it is a host of the site") + HOSTS.len();
    let mut random = Random::of_stream(seed, stream as u64);
    let articles = content::articles(seed, host, sizes.files);
    let mut all: Vec<File> = (0..sizes.files).map(|number| file(&mut random, number, &articles[number])).collect();
    let pages = all.iter().filter_map(|file| Some((&file.path, file.page.as_ref()?)));
    let links: String = pages.map(|(path, page)| format!("<li><a href=\"/{path}\">{}</a></li>\n", page.0)).collect();
    let (title, sentence) = (label(host), format!("This is the front page of {} with all its pages.", label(host)));
    let text = html(title, &format!("<p>{sentence}</p>\n<ul>\n{links}</ul>\n"), &[]);
    let page = Some((title.into(), sentence, Vec::new()));
    all.insert(0, File { path: "index.html".into(), body: Body::Text(text), page });
    all
}

fn file(random: &mut Random, number: usize, article: &Article) -> File {
    let bytes = log_normal(random);
    let body = match number % CYCLE {
        STYLE => Body::Text(lines(bytes, |number| rule(random, number))),
        SCRIPT => Body::Text(lines(bytes, |number| function(random, number))),
        0..CYCLE_PAGES => return page(random, number, article, bytes),
        _ => Body::Noise(bytes as u64),
    };
    File { path: path(number), body, page: None }
}

fn page(random: &mut Random, number: usize, article: &Article, bytes: f64) -> File {
    let assets = assets(random, number);
    let text = lines(bytes, |_| format!("<p>{}</p>\n", content::paragraph(random)));
    let text = html(&article.title, &format!("<p>{}</p>\n{text}", article.sentence), &assets);
    let page = Some((article.title.clone(), article.sentence.clone(), assets));
    File { path: format!("{}/{number}.html", article.category), body: Body::Text(text), page }
}

/// Where a file is that is no page.
fn path(number: usize) -> String {
    match number % CYCLE {
        STYLE => format!("styles/{number}.css"),
        SCRIPT => format!("scripts/{number}.js"),
        place => format!("pictures/{number}.{}", ["jpg", "png", "gif"][place % 3]),
    }
}

/// What a page loads: style, script and some pictures of the cycle before it, which are there whatever the site's size.
fn assets(random: &mut Random, number: usize) -> Vec<String> {
    let Some(cycle) = (number / CYCLE).checked_sub(1).map(|cycle| cycle * CYCLE) else { return Vec::new() };
    let pictures = (1..=random.below(PICTURES + 1)).map(|picture| cycle + SCRIPT + picture as usize);
    [cycle + STYLE, cycle + SCRIPT].into_iter().chain(pictures).map(|number| format!("/{}", path(number))).collect()
}

fn html(title: &str, body: &str, assets: &[String]) -> String {
    let asset = |target: &String| match Path::new(target).extension().and_then(|end| end.to_str()) {
        Some("css") => format!("<link rel=\"stylesheet\" href=\"{target}\">\n"),
        Some("js") => format!("<script src=\"{target}\" defer></script>\n"),
        _ => format!("<img src=\"{target}\" alt=\"\">\n"),
    };
    let loaded: String = assets.iter().map(asset).collect();
    let head = format!("<meta charset=\"utf-8\">\n<title>{title}</title>\n<h1>{title}</h1>\n");
    format!("<!DOCTYPE html>\n<html lang=\"en\">\n{head}{loaded}{body}</html>\n")
}

fn rule(random: &mut Random, number: usize) -> String {
    let (margin, padding) = (random.below(40), random.below(40));
    format!(".{}-{number} {{ margin: {margin}px; padding: {padding}px; }}\n", content::noun(random))
}

fn function(random: &mut Random, number: usize) -> String {
    format!("function {}{number}(value) {{ return value + {}; }}\n", content::noun(random), random.below(1000))
}

/// Lines, made by their number, until there are so many bytes.
fn lines(bytes: f64, mut line: impl FnMut(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0.. {
        if text.len() as f64 >= bytes {
            break;
        }
        text.push_str(&line(number));
    }
    text
}

/// Box and Muller 1958.
fn log_normal(random: &mut Random) -> f64 {
    let (radius, angle) = ((-2.0 * (1.0 - random.fraction()).ln()).sqrt(), std::f64::consts::TAU * random.fraction());
    (LOG_BYTES.0 + LOG_BYTES.1 * radius * angle.cos()).exp().min(BYTES_MAX).round()
}
