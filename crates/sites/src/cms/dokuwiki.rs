//! Wikis in files: DokuWiki, which needs no database.

use super::content::{self, Article};
use super::site::{self, Site};
use super::{Cms, Page, Places, Sizes, code, hosts, label};
use load::workload::Error;
use serde_json::{Value, json};
use std::path::Path;

const PACKAGE: &str = "/usr/share/dokuwiki";

/// Debian keeps the settings here; the package's `preload.php` would look for them.
const SETTINGS: &str = "/etc/dokuwiki";

/// Of the package, what no reader's request needs.
const LEFT_OUT: &str = "inc/preload.php install.php bin lib/plugins/testing";

/// Of the settings, those of this machine.
const OWN_SETTINGS: &str = "apache.conf lighttpd.conf local.php acl.auth.php users.auth.php htaccess";

/// Folders that must be there before the first request.
const FOLDERS: [&str; 11] =
    ["attic", "cache", "index", "locks", "log", "media", "media_attic", "media_meta", "meta", "pages", "tmp"];

/// As the package's installation writes it: readers read, users write.
const RIGHTS: &str = "* @ALL 1\n* @user 8\n";

/// What the template loads; the first three are made by DokuWiki, and kept in its cache.
const ASSETS: [&str; 7] = [
    "/lib/exe/css.php?t=dokuwiki",
    "/lib/exe/jquery.php",
    "/lib/exe/js.php?t=dokuwiki",
    "/lib/images/license/button/cc-by-nc-sa.png",
    "/lib/tpl/dokuwiki/images/button-dw.png",
    "/lib/tpl/dokuwiki/images/button-html5.png",
    "/lib/tpl/dokuwiki/images/logo.png",
];

/// Copies the code and makes the wikis.
pub fn install(site: &Site, seed: u64, sizes: Sizes) -> Result<(), Error> {
    let code = site.code("dokuwiki");
    code::copy(Path::new(PACKAGE), &code, &leaves_out)?;
    let settings = code.join("conf");
    code::copy(Path::new(SETTINGS), &settings, &|path| code::is_for_people(path) || code::is_in(path, OWN_SETTINGS))?;
    site.write(&settings.join("local.php"), include_str!("dokuwiki-local.php"))?;
    site.write(&settings.join("acl.auth.php"), RIGHTS)?;
    site.write(&settings.join("users.auth.php"), "")?;
    hosts(Cms::DokuWiki).try_for_each(|host| {
        site.link(host, "dokuwiki")?;
        FOLDERS.iter().try_for_each(|folder| site.folder(&site.data(host).join(folder)))?;
        let articles = content::articles(seed, host, sizes.notes);
        site.fill(host, include_str!("dokuwiki-fill.php"), Some(&code), &lines(&articles, host))?;
        // What it holds goes by the data's path, and by the host's port.
        let cache = site.data(host).join("cache");
        std::fs::remove_dir_all(&cache).map_err(Error::doing("remove", &cache))?;
        site.folder(&cache)
    })
}

fn leaves_out(path: &Path) -> bool {
    let is_other_language = path.parent().is_some_and(|parent| parent.ends_with("lang"))
        && !path.ends_with("en")
        && path.extension().is_none();
    is_other_language || code::is_for_people(path) || code::is_in(path, LEFT_OUT)
}

/// A category is a namespace.
fn id(article: &Article) -> String {
    format!("{}:{}", article.category, article.title.to_lowercase().replace(' ', "_"))
}

fn lines(articles: &[Article], host: &str) -> Vec<Value> {
    let link = |article: &Article| format!("  * [[:{}|{}]]\n", id(article), article.title);
    let of_article = |article: &Article| {
        let parts: Vec<String> = article.parts.iter().map(|part| part.join("\n\n")).collect();
        let text = parts.join("\n\n===== Further =====\n\n");
        let links: String = article.links.iter().map(|number| link(&articles[*number])).collect();
        let text = format!("====== {} ======\n\n{text}\n\n===== See also =====\n\n{links}", article.title);
        json!({ "id": id(article), "text": text })
    };
    let list: String = content::newest(articles).iter().map(link).collect();
    let front = json!({ "id": "start", "text": format!("====== Start ======\n\n{}\n\n{list}", welcome(host)) });
    articles.iter().map(of_article).chain([front]).collect()
}

fn welcome(host: &str) -> String {
    format!("This is the front page of {} with its newest notes.", label(host))
}

/// What a wiki answers: its front page and its notes.
pub fn pages(seed: u64, sizes: Sizes, host: &'static str) -> Vec<Page> {
    let page = |target: String, title: &str, sentence: String| Page::made(host, target, title, sentence, &ASSETS);
    let front = page("/doku.php".into(), "Start", welcome(host));
    let articles = content::articles(seed, host, sizes.notes);
    let each = articles.into_iter().map(|one| page(format!("/doku.php?id={}", id(&one)), &one.title, one.sentence));
    [front].into_iter().chain(each).collect()
}

/// Every note is there with its title.
pub fn verify(seed: u64, sizes: Sizes, places: Places, host: &str) -> Result<(), Error> {
    let pages = site::data(places, host).join("pages");
    for article in content::articles(seed, host, sizes.notes) {
        let path = pages.join(id(&article).replace(':', "/")).with_extension("txt");
        let text = std::fs::read_to_string(&path).map_err(Error::doing("read", &path))?;
        if !text.contains(&article.sentence) {
            let (place, found) = (path.display().to_string(), text.lines().take(3).collect::<String>());
            return Err(Error::wrong_data(place, article.sentence, found));
        }
    }
    Ok(())
}
