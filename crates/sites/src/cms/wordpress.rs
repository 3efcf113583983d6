//! Blogs: WordPress on MariaDB, with the theme that it comes with.

use super::content::{self, Article};
use super::site::Site;
use super::{Cms, Page, Places, Sizes, code, compare, hosts, label, refused};
use load::workload::Error;
use serde_json::{Value, json};
use std::path::Path;
use wire::Connection as _;
use wire::mysql::Mysql;

/// Where it keeps its pages.
pub(super) const DATABASE: &str = load::engines::mariadb::ENGINE.name;

const PACKAGE: &str = "/usr/share/wordpress";

/// Of the package, what only editors load.
const LEFT_OUT: &[&str] = &[
    "wp-admin/css",
    "wp-admin/images",
    "wp-admin/js",
    "wp-includes/js/codemirror",
    "wp-includes/js/plupload",
    "wp-includes/js/tinymce",
];

/// Besides what stands in the page itself, the theme loads these.
const ASSETS: [&str; 3] = [
    "/wp-includes/blocks/navigation/style.min.css",
    "/wp-includes/blocks/navigation/view.min.js",
    "/wp-includes/blocks/navigation/view-modal.min.js",
];

/// Number of a blog's first article; the numbers below are those of what an installation makes itself.
const FIRST: usize = 101;

/// The first of 2007, in Unix time: when the first article came. The others follow by the hour.
const BEGINNING: usize = 1_167_609_600;

/// Copies the code and makes the blogs.
pub fn install(site: &Site, seed: u64, sizes: Sizes) -> Result<(), Error> {
    let code = site.code("wordpress");
    code::copy(Path::new(PACKAGE), &code, &leaves_out)?;
    site.write(&code.join("wp-config.php"), include_str!("wordpress-config.php"))?;
    hosts(Cms::WordPress).try_for_each(|host| {
        site.link(host, "wordpress")?;
        let articles = content::articles(seed, host, sizes.posts);
        let lines: Vec<Value> = articles.iter().enumerate().map(|(number, article)| line(number, article)).collect();
        site.fill(host, include_str!("wordpress-fill.php"), Some(&code.join("wp-load.php")), &lines)
    })
}

/// Besides, scripts and styles for developers, where the small ones are there.
fn leaves_out(path: &Path) -> bool {
    let small = |end: &str, small: &str| {
        let name = path.to_string_lossy();
        let stem = name.strip_suffix(end).filter(|stem| !stem.ends_with(".min"));
        stem.is_some_and(|stem| Path::new(PACKAGE).join(format!("{stem}{small}")).exists())
    };
    code::is_for_people(path) || code::is_in(path, LEFT_OUT) || small(".js", ".min.js") || small(".css", ".min.css")
}

fn line(number: usize, article: &Article) -> Value {
    let paragraph = |text: &String| format!("<!-- wp:paragraph -->\n<p>{text}</p>\n<!-- /wp:paragraph -->\n");
    let links = article.links.iter().map(|link| format!("<a href=\"{}\">{}</a>", target(*link), link + 1));
    let text: String = article.parts.iter().flatten().map(paragraph).collect();
    json!({
        "id": FIRST + number,
        "title": article.title,
        "text": text + &paragraph(&links.collect::<Vec<_>>().join(" ")),
        "category": content::capital(article.category),
        "time": BEGINNING + number * 3600,
        "comments": article.comments,
    })
}

fn target(number: usize) -> String {
    format!("/?p={}", FIRST + number)
}

/// What a blog answers: its front page and its categories, all beginning with the newest article, and every article.
pub fn pages(seed: u64, sizes: Sizes, host: &'static str) -> Vec<Page> {
    let articles = content::articles(seed, host, sizes.posts);
    let page = |target: String, title: &str, article: &Article| {
        Page::made(host, target, title, article.sentence.clone(), &ASSETS)
    };
    let front = articles.last().map(|newest| page("/".into(), label(host), newest));
    let of_category = |category: &'static str| {
        let newest = articles.iter().rfind(|article| article.category == category)?;
        Some(page(format!("/?category_name={category}"), &content::capital(category), newest))
    };
    let categories = content::categories().filter_map(of_category);
    let each = articles.iter().enumerate().map(|(number, article)| page(target(number), &article.title, article));
    front.into_iter().chain(categories).chain(each).collect()
}

/// Every post is there; what it says is looked at where pages are asked for.
pub fn verify(sizes: Sizes, places: Places, host: &str) -> Result<(), Error> {
    let refused = refused(DATABASE, "count posts");
    let mut client = Mysql::connect(places.mariadb, "root", label(host)).map_err(&refused)?;
    let sql = "SELECT COUNT(*) FROM wp_posts WHERE post_type = 'post' AND post_status = 'publish'";
    let found = client.query(sql).map_err(&refused)?.first().and_then(|count| count.parse().ok());
    compare("posts", host, sizes.posts as u64, found.unwrap_or(0))
}
