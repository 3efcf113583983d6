//! The site `cms` as a replay needs it: a log of visits that never were, and what each answer must hold.

use http::log_generator::{self, Asset, Generator, Shape};
use load::http_log::{Answer, Known};
use load::workload::{Context, Error};
use random::Random;
use sites::cms::{self, Page, Places, Sizes};
use sites::site;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Site and log are the same in every round and study, as a log from elsewhere would be.
const SEED: u64 = 1;

/// Which visits.
#[derive(Debug, Clone, Copy)]
pub struct Visits {
    /// How much there is to read.
    pub sizes: Sizes,
    /// Requests of the log.
    pub requests: u64,
    /// Share of pages that a program makes.
    pub dynamic_share: f64,
}

impl Visits {
    /// What answers must hold.
    pub fn known(&self) -> Known {
        known(&self.pages())
    }

    fn pages(&self) -> Vec<Page> {
        cms::pages(SEED, self.sizes)
    }

    /// Makes the site and its databases.
    pub fn install(&self, context: &Context) -> Result<(), Error> {
        cms::install(SEED, self.sizes, places(&site::root(context), context), context.interrupted)
    }

    /// What was made is still there.
    pub fn verify(&self, context: &Context) -> Result<(), Error> {
        cms::verify(SEED, self.sizes, places(&site::root(context), context))
    }

    /// The log of the visits, written where it is not there yet: who wonders what was asked for can read it.
    pub fn log(&self, cache: &Path) -> Result<PathBuf, Error> {
        let Visits { sizes, requests, dynamic_share } = self;
        let Sizes { posts, articles, notes, files } = sizes;
        let name = format!("visits-{posts}-{articles}-{notes}-{files}-{requests}-{dynamic_share}.log");
        let path = cache.join(name);
        if path.exists() {
            return Ok(path);
        }
        let unfinished = path.with_extension("unfinished");
        let file = File::create(&unfinished).map_err(Error::doing("create", &unfinished))?;
        self.write(file).map_err(Error::doing("write", &unfinished))?;
        std::fs::rename(&unfinished, &path).map_err(Error::doing("rename", &unfinished))?;
        Ok(path)
    }

    /// The log of the visits, where no file can be written.
    pub fn text(&self) -> Result<Vec<u8>, Error> {
        let mut text = Vec::new();
        self.write(&mut text).map_err(Error::doing("write", "the log of visits".as_ref()))?;
        Ok(text)
    }

    fn write(&self, to: impl Write) -> io::Result<()> {
        let mut random = Random::new(SEED);
        let pages = ranked(self.pages(), &mut random);
        let shape = Shape { requests: self.requests, dynamic_share: self.dynamic_share, ..Shape::default() };
        let mut generator = Generator::new(&pages, &shape, move || random.next_u64()).map_err(io::Error::other)?;
        let mut out = BufWriter::new(to);
        generator.write_to(&mut out)?;
        out.flush()
    }
}

fn places<'a>(site: &'a Path, context: &'a Context) -> Places<'a> {
    Places::of(site, &context.sockets)
}

/// The generator's pages, the most popular first: front pages, then all others in the order of a draw, so that no kind of
/// host is above the others.
fn ranked(pages: Vec<Page>, random: &mut Random) -> Vec<log_generator::Page> {
    let sizes: HashMap<(&str, String), Option<u64>> =
        pages.iter().map(|page| ((page.host, page.target.clone()), page.bytes)).collect();
    let titled = pages.iter().filter(|page| !page.title.is_empty());
    let mut drawn: Vec<(bool, u64, &Page)> = titled.map(|page| (page.target != "/", random.next_u64(), page)).collect();
    drawn.sort_by_key(|(is_inner, rank, _)| (*is_inner, *rank));
    let of_asset = |page: &Page, target: &String| {
        let bytes = sizes.get(&(page.host, target.clone())).copied().flatten();
        Asset { target: target.clone(), bytes }
    };
    let of_page = |(_, _, page): (bool, u64, &Page)| log_generator::Page {
        host: page.host.to_string(),
        target: page.target.clone(),
        is_dynamic: page.is_dynamic,
        bytes: page.bytes,
        assets: page.assets.iter().map(|target| of_asset(page, target)).collect(),
    };
    drawn.into_iter().map(of_page).collect()
}

fn known(pages: &[Page]) -> Known {
    let mut known = Known::new();
    for page in pages {
        let has_text = !page.sentence.is_empty();
        let answer = Answer { body_bytes: page.bytes, body_text: has_text.then(|| page.sentence.as_bytes().into()) };
        let of_host = known.entry(page.host.into()).or_default();
        of_host.insert(page.target.as_bytes().into(), answer);
        for asset in &page.assets {
            // Those of programs are no pages, and of no known size; they are there all the same.
            of_host.entry(asset.as_bytes().into()).or_insert(Answer { body_bytes: None, body_text: None });
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_visitor_asks_for_is_known() {
        let sizes = Sizes { posts: 10, articles: 10, notes: 10, files: 40 };
        let visits = Visits { sizes, requests: 2000, dynamic_share: 0.5 };
        let (known, text) = (visits.known(), visits.text().expect("made"));
        let mut lines = 0;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let entry = http::access_log::parse(line).expect("a line");
            let host = entry.host.as_deref().expect("a virtual host");
            let target = String::from_utf8_lossy(&entry.target);
            let answer = known[host].get(&*entry.target);
            assert!(answer.is_some(), "{target} of {}", String::from_utf8_lossy(host));
            // An asset that is a file keeps its size.
            assert!(entry.bytes.is_none() || answer.expect("it is known").body_bytes.is_some(), "{target}");
            lines += 1;
        }
        assert_eq!(lines, 2000);
    }
}
