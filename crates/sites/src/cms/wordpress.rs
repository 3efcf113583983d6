//! Blogs: WordPress on MariaDB, with the theme that it comes with.

use super::content::{self, Article};
use super::site::Site;
use super::{Cms, Page, Places, Sizes, code, compare, hosts, label};
use load::sql::failed;
use load::workload::Error;
use serde_json::{Value, json};
use std::path::Path;
use wire::Connection as _;
use wire::mysql::Mysql;

/// Where it keeps its pages.
pub(super) const DATABASE: &str = load::engines::mariadb::ENGINE.name;

const PACKAGE: &str = "/usr/share/wordpress";

/// Of the package, what only editors load.
const LEFT_OUT: &str = "wp-admin/css wp-admin/images wp-admin/js wp-includes/js/codemirror wp-includes/js/plupload \
    wp-includes/js/tinymce";

/// Besides what stands in the page itself, the theme loads these.
const ASSETS: [&str; 3] = [
    "/wp-includes/blocks/navigation/style.min.css",
    "/wp-includes/blocks/navigation/view.min.js",
    "/wp-includes/blocks/navigation/view-modal.min.js",
];

/// Number of a blog's first article; the numbers below are those of what an installation makes itself.
const FIRST: usize = 101;

/// Characters that are told of a text that is not what was loaded.
const EXCERPT: usize = 60;

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
    json!({
        "id": FIRST + number,
        "title": article.title,
        "text": text(article),
        "category": content::capital(article.category),
        "time": BEGINNING + number * 3600,
        "comments": article.comments,
    })
}

fn text(article: &Article) -> String {
    let paragraph = |text: &String| format!("<!-- wp:paragraph -->\n<p>{text}</p>\n<!-- /wp:paragraph -->\n");
    let links = article.links.iter().map(|link| format!("<a href=\"{}\">{}</a>", target(*link), link + 1));
    let text: String = article.parts.iter().flatten().map(paragraph).collect();
    text + &paragraph(&links.collect::<Vec<_>>().join(" "))
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

/// Every post is there with its title and its text.
pub fn verify(seed: u64, sizes: Sizes, places: Places, host: &str) -> Result<(), Error> {
    let refused = failed(DATABASE, "read posts");
    let mut client = Mysql::connect(places.mariadb, "root", label(host)).map_err(&refused)?;
    let sql = "SELECT ID, post_title, post_content FROM wp_posts WHERE post_type = 'post' AND post_status = 'publish' ORDER BY ID";
    let rows = client.query(sql).map_err(&refused)?.rows;
    compare("posts", host, sizes.posts as u64, rows.len() as u64)?;
    let articles = content::articles(seed, host, sizes.posts);
    articles.iter().zip(&rows).enumerate().try_for_each(|(number, (article, row))| check(number, article, row, host))
}

/// A post's number, title and text, as they were loaded.
fn check(number: usize, article: &Article, row: &[Option<String>], host: &str) -> Result<(), Error> {
    let expected = [(FIRST + number).to_string(), article.title.clone(), text(article)];
    for ((expected, found), what) in expected.iter().zip(row).zip(["number", "title", "text"]) {
        let found = found.as_deref().unwrap_or_default();
        if found != expected {
            let same = expected.chars().zip(found.chars()).take_while(|(one, other)| one == other).count();
            let excerpt = |text: &str| text.chars().skip(same).take(EXCERPT).collect::<String>();
            let place = format!("the {what} of post {} of {host}, from character {same} on", FIRST + number);
            return Err(Error::wrong_data(place, excerpt(expected), excerpt(found)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_post_with_another_title_or_text_is_wrong_data() {
        let host = hosts(Cms::WordPress).next().expect("there is one");
        let articles = content::articles(7, host, 3);
        let row =
            |number: usize, title: &str, text: String| [Some(number.to_string()), Some(title.to_string()), Some(text)];
        let told = |row: &[Option<String>]| check(1, &articles[1], row, host).map_err(|error| error.to_string());
        let (title, whole) = (&articles[1].title, text(&articles[1]));
        assert_eq!(told(&row(102, title, whole.clone())), Ok(()));
        let half = whole.split_at(whole.len() / 2).0;
        for (wrong, what) in [
            (row(103, title, whole.clone()), "number"),
            (row(102, &articles[0].title, whole.clone()), "title"),
            (row(102, title, half.into()), "text"),
            (row(102, title, String::new()), "text"),
            (row(102, title, text(&articles[2])), "text"),
        ] {
            let told = told(&wrong).unwrap_err();
            assert!(told.starts_with(&format!("wrong data in the {what} of post 102 of {host}, ")), "{told}");
        }
    }
}
