//! A shared web server's site: blogs, wikis and files on ten virtual hosts, as a provider of small sites has them.
//!
//! WordPress (its data in MariaDB), MediaWiki (PostgreSQL) and DokuWiki (plain files) are those of Debian's packages. Their
//! code is copied onto the filesystem under test once for all hosts of a kind: `SITE/<host>` is a relative link to
//! `SITE/.code/<cms>`, and configuration follows the request's Host header, whatever its port. Where the databases' servers
//! are, PHP reads from the environment (`MARIADB_SOCKET`, `POSTGRES_SOCKET`), so that neither files nor databases hold a path
//! or an address, and a copy of both works elsewhere.
//!
//! A web server for it follows links, answers a folder with its `index.php` or `index.html`, rewrites nothing, and runs PHP as
//! the owner of `SITE/.data`. Driven by a workload; starts no server. `content.rs` is what there is to read, `site.rs` and
//! `code.rs` are what every installation does; then a file a kind of host.

mod code;
mod content;
mod site;

mod dokuwiki;
mod files;
mod mediawiki;
mod wordpress;

use load::sql::same;
use load::workload::Error;
use site::Site;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// How much there is to read on the hosts of each kind.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Posts of a blog (WordPress).
    pub posts: usize,
    /// Pages of a wiki in a database (MediaWiki).
    pub articles: usize,
    /// Pages of a wiki in files (DokuWiki).
    pub notes: usize,
    /// Files of a host that has only these.
    pub files: usize,
}

/// Where the site is made, and with which servers.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The web server serves a host's folder in here.
    pub site: &'a Path,
    /// Unix socket of MariaDB; its user `root` has no password.
    pub mariadb: &'a Path,
    /// Unix socket of PostgreSQL; its user `postgres` is trusted.
    pub postgres: &'a Path,
}

/// The services that its hosts need before the web server starts.
pub const SERVICES: [&str; 2] = [wordpress::DATABASE, mediawiki::DATABASE];

impl<'a> Places<'a> {
    /// With those of the servers that run, by service.
    pub fn of(site: &'a Path, sockets: &'a BTreeMap<String, PathBuf>) -> Places<'a> {
        Places { site, mariadb: &sockets[wordpress::DATABASE], postgres: &sockets[mediawiki::DATABASE] }
    }
}

/// Something that can be asked for, and what tells that it was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Value of the Host header, without a port.
    pub host: &'static str,
    /// Path and query.
    pub target: String,
    /// Stands in the answer; empty: the file is no page.
    pub title: String,
    /// Stands in the answer, and of all hosts only there (and where it is listed): letters, digits, spaces, a full stop.
    /// Empty: the file is no page.
    pub sentence: String,
    /// Whether a program makes it.
    pub is_dynamic: bool,
    /// Size of a file.
    pub bytes: Option<u64>,
    /// Targets of the same host that a browser fetches with it.
    pub assets: Vec<String>,
}

impl Page {
    /// One that a program makes, with what its skin loads.
    fn made(host: &'static str, target: String, title: &str, sentence: String, assets: &[&str]) -> Page {
        let assets = assets.iter().map(|target| (*target).to_string()).collect();
        Page { host, target, title: title.into(), sentence, is_dynamic: true, bytes: None, assets }
    }
}

/// What a virtual host runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cms {
    WordPress,
    MediaWiki,
    DokuWiki,
    Files,
}

/// The virtual hosts. The first label is the name of the host's database.
const HOSTS: [(&str, Cms); 10] = [
    ("blog1.example", Cms::WordPress),
    ("blog2.example", Cms::WordPress),
    ("blog3.example", Cms::WordPress),
    ("wiki1.example", Cms::MediaWiki),
    ("wiki2.example", Cms::MediaWiki),
    ("notes1.example", Cms::DokuWiki),
    ("notes2.example", Cms::DokuWiki),
    ("files1.example", Cms::Files),
    ("files2.example", Cms::Files),
    ("files3.example", Cms::Files),
];

fn hosts(cms: Cms) -> impl Iterator<Item = &'static str> {
    HOSTS.iter().filter(move |host| host.1 == cms).map(|host| host.0)
}

fn label(host: &str) -> &str {
    host.split('.').next().expect("a split has a first part")
}

/// Files that are there when a package is, and the package.
const NEEDED: &[(&str, &str)] = &[
    ("/usr/share/wordpress/wp-load.php", "wordpress"),
    ("/usr/share/wordpress/wp-content/themes/twentytwentythree/theme.json", "wordpress-theme-twentytwentythree"),
    ("/usr/share/mediawiki/includes/WebStart.php", "mediawiki"),
    ("/usr/share/dokuwiki/doku.php", "dokuwiki"),
];

/// Extensions of PHP that the three need, as `php -m` names them, and the package.
const EXTENSIONS: &[(&str, &str)] = &[
    ("mysqli", "php-mysql"),
    ("pgsql", "php-pgsql"),
    ("intl", "php-intl"),
    ("mbstring", "php-mbstring"),
    ("dom", "php-xml"),
    ("gd", "php-gd"),
];

/// What installs them: another version may make other files and tables.
const PHP: (&str, &str) = ("/usr/bin/php", "php-cli");

/// Packages that are not installed.
pub fn missing() -> Vec<String> {
    let Some(modules) = site::modules() else { return vec!["php-cli".into()] };
    let files = NEEDED.iter().filter(|needed| !Path::new(needed.0).exists());
    let extensions = EXTENSIONS.iter().filter(|needed| !modules.lines().any(|module| module == needed.0));
    files.chain(extensions).map(|needed| needed.1.to_string()).collect()
}

/// Makes all hosts of a kind.
type Install = fn(&Site, u64, Sizes) -> Result<(), Error>;

/// What tells one installation of the packages from another: a part of a template's identity.
pub fn installed() -> String {
    let of_file = |needed: &(&str, &str)| {
        let (bytes, seconds) = std::fs::metadata(needed.0).map(|file| (file.len(), file.mtime())).unwrap_or_default();
        format!("{} {bytes} {seconds}", needed.1)
    };
    NEEDED.iter().chain([&PHP]).map(of_file).collect::<Vec<_>>().join(", ")
}

/// Makes the site and its databases.
///
/// # Errors
/// When a file can't be written, or an installation says that it failed: with its last words.
pub fn install(seed: u64, sizes: Sizes, places: Places, interrupted: &AtomicBool) -> Result<(), Error> {
    let site = Site::begin(places, interrupted)?;
    std::thread::scope(|scope| {
        let each: [Install; 4] = [wordpress::install, mediawiki::install, dokuwiki::install, files::install];
        let site = &site;
        let running = each.map(|install| scope.spawn(move || install(site, seed, sizes)));
        running.into_iter().try_for_each(|one| one.join().expect("an installation does not panic"))
    })?;
    site.end()
}

/// What was made is still there: every article in its database or file (a blog's with its text), every file with its size.
///
/// # Errors
/// [`Error::WrongData`] when something is not; others when a server can't be asked.
pub fn verify(seed: u64, sizes: Sizes, places: Places) -> Result<(), Error> {
    hosts(Cms::WordPress).try_for_each(|host| wordpress::verify(seed, sizes, places, host))?;
    hosts(Cms::MediaWiki).try_for_each(|host| mediawiki::verify(sizes, places, host))?;
    hosts(Cms::DokuWiki).try_for_each(|host| dokuwiki::verify(seed, sizes, places, host))?;
    hosts(Cms::Files).try_for_each(|host| files::verify(seed, sizes, places, host))
}

/// So many were made, so many must be there.
fn compare(what: &str, host: &str, expected: u64, found: u64) -> Result<(), Error> {
    same(&format!("{what} of {host}"), &expected.to_string(), &found.to_string())
}

/// Everything that the site answers, host by host, a host's front page first.
pub fn pages(seed: u64, sizes: Sizes) -> Vec<Page> {
    let of_host = |&(host, cms): &(&'static str, Cms)| match cms {
        Cms::WordPress => wordpress::pages(seed, sizes, host),
        Cms::MediaWiki => mediawiki::pages(seed, sizes, host),
        Cms::DokuWiki => dokuwiki::pages(seed, sizes, host),
        Cms::Files => files::pages(seed, sizes, host),
    };
    HOSTS.iter().flat_map(of_host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const SIZES: Sizes = Sizes { posts: 60, articles: 60, notes: 60, files: 60 };

    #[test]
    fn pages_are_told_apart_and_come_again() {
        let all = pages(7, SIZES);
        assert_eq!(all, pages(7, SIZES));
        assert_ne!(all, pages(8, SIZES));
        let targets: HashSet<_> = all.iter().map(|page| (page.host, &page.target)).collect();
        assert_eq!(targets.len(), all.len());
        for cms in [Cms::WordPress, Cms::MediaWiki, Cms::DokuWiki] {
            let articles = hosts(cms).flat_map(|host| content::articles(7, host, 60));
            let sentences: HashSet<String> = articles.map(|article| article.sentence).collect();
            assert_eq!(sentences.len(), 60 * hosts(cms).count());
        }
    }

    /// A template that an older PHP made is not taken for one of a newer.
    #[test]
    fn an_installation_is_told_by_its_php() {
        let (bytes, seconds) = std::fs::metadata(PHP.0).map(|file| (file.len(), file.mtime())).unwrap_or_default();
        assert!(installed().ends_with(&format!(", php-cli {bytes} {seconds}")), "{}", installed());
    }

    #[test]
    fn sentences_stay_what_they_are_in_any_markup() {
        for page in pages(3, SIZES) {
            let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" .:".contains(&byte));
            assert!(is_plain(&page.sentence) && is_plain(&page.title), "{page:?}");
            assert_eq!(page.sentence.is_empty(), page.title.is_empty(), "{page:?}");
        }
    }

    #[test]
    fn what_a_page_of_files_loads_is_there() {
        let all = pages(5, SIZES);
        let files: HashSet<_> = all.iter().map(|page| (page.host, page.target.as_str())).collect();
        let loaded = all.iter().filter(|page| !page.is_dynamic).flat_map(|page| &page.assets).count();
        assert!(loaded > 20, "{loaded}");
        for page in all.iter().filter(|page| !page.is_dynamic) {
            assert!(page.assets.iter().all(|asset| files.contains(&(page.host, asset.as_str()))), "{page:?}");
        }
    }
}
