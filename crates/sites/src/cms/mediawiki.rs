//! Wikis in a database: MediaWiki on PostgreSQL, with the skin Vector and no extensions, as its installer leaves it.

use super::content::{self, Article};
use super::site::Site;
use super::{Cms, Page, Places, Sizes, code, compare, hosts, label};
use load::sql::failed;
use load::workload::Error;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use wire::Connection as _;
use wire::postgres::Postgres;

/// Where it keeps its pages.
pub(super) const DATABASE: &str = load::engines::postgres::ENGINE.name;

/// The user whom the server trusts, and a database of that name, which every cluster has.
const USER: &str = "postgres";

/// Where the package is.
pub const PACKAGE: &str = "/usr/share/mediawiki";

/// The installer makes it, of this name.
const FRONT: &str = "Main Page";

/// Of the package, what no reader's request needs; at last, interfaces for editors of code, and other wikis' settings to test with.
const LEFT_OUT: &str = "LocalSettings.php config images extensions extensions-core maintenance mw-config \
    skins/MinervaNeue skins/MonoBook skins/Timeless resources/lib/qunitjs resources/lib/sinonjs \
    vendor/wikimedia/idle-dom vendor/wikimedia/parsoid/baseconfig vendor/wikimedia/parsoid/bin \
    vendor/wikimedia/parsoid/tools";

/// What the skin loads; the first two are made by MediaWiki.
const ASSETS: [&str; 3] = [
    "/load.php?lang=en&modules=skins.vector.styles.legacy&only=styles&skin=vector",
    "/load.php?lang=en&modules=startup&only=scripts&raw=1&skin=vector",
    "/resources/assets/poweredby_mediawiki_88x31.png",
];

/// Copies the code and makes the wikis: the first by MediaWiki's installer, the others as copies of its empty database.
pub fn install(site: &Site, seed: u64, sizes: Sizes) -> Result<(), Error> {
    let code = site.code("mediawiki");
    code::copy(Path::new(PACKAGE), &code, &leaves_out)?;
    let first = hosts(Cms::MediaWiki).next().expect("there is one");
    create(site, first)?;
    site.write(&code.join("LocalSettings.php"), include_str!("mediawiki-settings.php"))?;
    site.run(first, &[maintenance("rebuildLocalisationCache.php"), "--lang=en".into(), "--quiet".into()])?;
    for host in hosts(Cms::MediaWiki) {
        site.link(host, "mediawiki")?;
        if host != first {
            copy_database(site, first, host)?;
        }
    }
    hosts(Cms::MediaWiki).try_for_each(|host| {
        let lines = lines(&content::articles(seed, host, sizes.articles), host);
        site.fill(host, include_str!("mediawiki-fill.php"), None, &lines)
    })
}

fn leaves_out(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_language = |folder: &str| path.parent().is_some_and(|parent| parent.ends_with(folder));
    code::is_for_people(path)
        || code::is_in(path, LEFT_OUT)
        || is_language("i18n") && name.ends_with(".json") && name != "en.json"
        || is_language("languages/messages") && name != "MessagesEn.php"
}

/// Runs the installer, which stops where it finds settings; those that it writes are not used, but ours.
fn create(site: &Site, host: &str) -> Result<(), Error> {
    let server = site.places.postgres.parent().expect("a socket lies in a folder");
    let port = site.places.postgres.extension().unwrap_or_default();
    let mut arguments = vec![maintenance("install.php")];
    let options = [
        ("--confpath", site.work()),
        ("--dbtype", DATABASE.into()),
        ("--dbserver", server.into()),
        ("--dbport", port.into()),
        ("--dbname", label(host).into()),
        ("--dbuser", USER.into()),
        ("--dbpass", "unused".into()),
        ("--installdbuser", USER.into()),
        ("--installdbpass", "unused".into()),
        ("--scriptpath", "".into()),
        ("--server", format!("http://{host}").into()),
        ("--pass", "administrator-1".into()),
    ];
    arguments.extend(options.into_iter().flat_map(|(name, value)| [name.into(), value]));
    arguments.extend([label(host).into(), "administrator".into()]);
    site.run(host, &arguments).map(drop)
}

/// A program for administrators, which is run in the package's folder.
fn maintenance(name: &str) -> PathBuf {
    Path::new(PACKAGE).join("maintenance").join(name)
}

fn copy_database(site: &Site, from: &str, to: &str) -> Result<(), Error> {
    let refused = failed(DATABASE, "copy a database");
    let mut client = Postgres::connect(site.places.postgres, USER, USER).map_err(&refused)?;
    let sql = format!("CREATE DATABASE {} TEMPLATE {}", label(to), label(from));
    client.query(&sql).map(drop).map_err(&refused)
}

/// Pages and their text: the articles, then what lists them.
fn lines(articles: &[Article], host: &str) -> Vec<Value> {
    let link = |article: &Article| format!("* [[{}]]\n", article.title);
    let line = |title: String, text: String| json!({ "title": title, "text": text });
    let of_article = |article: &Article| {
        let parts: Vec<String> = article.parts.iter().map(|part| part.join("\n\n")).collect();
        let text = parts.join("\n\n== Further ==\n\n");
        let links: String = article.links.iter().map(|number| link(&articles[*number])).collect();
        let category = category(article.category);
        line(article.title.clone(), format!("{text}\n\n== See also ==\n\n{links}\n[[{category}]]\n"))
    };
    let of_category = |name| line(category(name), explanation(name, host));
    let list: String = content::newest(articles).iter().map(link).collect();
    let front = line(FRONT.into(), format!("{}\n\n{list}", welcome(host)));
    articles.iter().map(of_article).chain(content::categories().map(of_category)).chain([front]).collect()
}

fn category(name: &str) -> String {
    format!("Category:{}", content::capital(name))
}

fn explanation(category: &str, host: &str) -> String {
    format!("This is all that {} has of the {category}.", label(host))
}

fn welcome(host: &str) -> String {
    format!("This is the front page of {} with its newest articles.", label(host))
}

/// What a wiki answers: its front page, its categories, which list their articles, and these.
pub fn pages(seed: u64, sizes: Sizes, host: &'static str) -> Vec<Page> {
    let page = |target: String, title: &str, sentence: String| Page::made(host, target, title, sentence, &ASSETS);
    let target = |title: &str| format!("/index.php?title={}", title.replace(' ', "_"));
    let front = page("/".into(), FRONT, welcome(host));
    let categories =
        content::categories().map(|name| page(target(&category(name)), &category(name), explanation(name, host)));
    let articles = content::articles(seed, host, sizes.articles);
    let each = articles.into_iter().map(|one| page(target(&one.title), &one.title, one.sentence));
    [front].into_iter().chain(categories).chain(each).collect()
}

/// Every page is there, and its text.
pub fn verify(sizes: Sizes, places: Places, host: &str) -> Result<(), Error> {
    let refused = failed(DATABASE, "count pages");
    let mut client = Postgres::connect(places.postgres, USER, label(host)).map_err(&refused)?;
    let sql = "SELECT count(*) FROM mediawiki.page
               JOIN mediawiki.slots ON slot_revision_id = page_latest
               JOIN mediawiki.content ON content_id = slot_content_id
               JOIN mediawiki.text ON content_address = 'tt:' || old_id";
    let found = client.query(sql).map_err(&refused)?.first().and_then(|count| count.parse().ok());
    let expected = 1 + content::categories().count() + sizes.articles;
    compare("pages", host, expected as u64, found.unwrap_or(0))
}
