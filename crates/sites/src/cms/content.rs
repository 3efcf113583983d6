//! What there is to read: articles made of a small vocabulary, the same for the same seed.
//!
//! No word, mark or layout here is one that a CMS would turn into something else: what is written is what is answered.

use super::{HOSTS, label};
use random::Random;

const ADJECTIVES: [&str; 32] = [
    "amber", "ancient", "bright", "broad", "calm", "clear", "cold", "dark", "deep", "distant", "early", "empty",
    "faint", "gentle", "golden", "green", "hidden", "hollow", "late", "long", "narrow", "northern", "open", "pale",
    "plain", "quiet", "round", "silver", "slow", "soft", "warm", "young",
];

const NOUNS: [&str; 48] = [
    "anchor", "bridge", "candle", "canal", "castle", "cellar", "chapel", "cloud", "corner", "current", "field",
    "forest", "garden", "harbor", "hill", "island", "kettle", "ladder", "lantern", "letter", "market", "meadow",
    "mill", "mirror", "morning", "mountain", "orchard", "paper", "path", "pebble", "pillar", "pond", "river", "roof",
    "sail", "shadow", "shore", "signal", "square", "station", "stone", "stream", "tower", "valley", "village", "wheel",
    "window", "winter",
];

const VERBS: &[[&str; 8]] = &[
    ["answers", "borders", "carries", "covers", "crosses", "finds", "follows", "guards"],
    ["holds", "joins", "keeps", "leaves", "meets", "mends", "moves", "opens"],
    ["passes", "reaches", "remembers", "shows", "touches", "turns", "warms", "watches"],
];

/// An article is in one of so many categories, named by nouns.
const CATEGORIES: usize = 8;

/// A front page lists so many articles.
const NEWEST: usize = 50;

/// Paragraphs below a heading.
const PARAGRAPHS_OF_PART: usize = 3;

/// An article of a host.
#[derive(Debug, Clone)]
pub struct Article {
    /// No other article of the host has it.
    pub title: String,
    /// Its first sentence, with its title in it; no other article of any host has it.
    pub sentence: String,
    /// Where it belongs.
    pub category: &'static str,
    /// Its text: parts of paragraphs. The first paragraph begins with the sentence.
    pub parts: Vec<Vec<String>>,
    /// Numbers of other articles of the host that it points to.
    pub links: Vec<usize>,
    /// What readers said.
    pub comments: Vec<String>,
}

/// The articles of a host.
pub fn articles(seed: u64, host: &str, count: usize) -> Vec<Article> {
    let stream = HOSTS.iter().position(|known| known.0 == host).expect("it is a host of the site");
    let mut random = Random::of_stream(seed, stream as u64);
    (0..count).map(|number| article(&mut random, host, number, count)).collect()
}

/// Those that a front page lists.
pub fn newest(articles: &[Article]) -> &[Article] {
    &articles[articles.len().saturating_sub(NEWEST)..]
}

/// The names of the categories.
pub fn categories() -> impl Iterator<Item = &'static str> {
    NOUNS.iter().step_by(NOUNS.len() / CATEGORIES).copied()
}

fn article(random: &mut Random, host: &str, number: usize, count: usize) -> Article {
    let title = format!("{} {} {}", capital(draw(random, &ADJECTIVES)), noun(random), number + 1);
    let sentence = format!("{title} of {} {}.", label(host), predicate(random));
    let paragraphs = between(random, 3, 12);
    let mut text: Vec<String> = (0..paragraphs).map(|_| paragraph(random)).collect();
    text[0] = format!("{sentence} {}", text[0]);
    let parts = text.chunks(PARAGRAPHS_OF_PART).map(<[String]>::to_vec).collect();
    let links = (0..between(random, 2, 6)).map(|_| random.below(count as u64) as usize).collect();
    let comments = (0..random.below(5)).map(|_| paragraph(random)).collect();
    let category = categories().nth(random.below(CATEGORIES as u64) as usize).expect("it is below their number");
    Article { title, sentence, category, parts, links, comments }
}

/// A paragraph of three to eight sentences.
pub fn paragraph(random: &mut Random) -> String {
    (0..between(random, 3, 8)).map(|_| sentence(random)).collect::<Vec<_>>().join(" ")
}

fn sentence(random: &mut Random) -> String {
    format!("The {} {} {}.", draw(random, &ADJECTIVES), noun(random), predicate(random))
}

fn predicate(random: &mut Random) -> String {
    let mut text = format!("{} the {} {}", draw(random, VERBS.as_flattened()), draw(random, &ADJECTIVES), noun(random));
    if random.below(2) == 0 {
        text.push_str(&format!(" and {} the {}", draw(random, VERBS.as_flattened()), noun(random)));
    }
    if random.below(2) == 0 {
        text.push_str(&format!(" near the {} {}", draw(random, &ADJECTIVES), noun(random)));
    }
    text
}

/// The word with a capital first letter.
pub fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

/// One of the vocabulary's nouns.
pub fn noun(random: &mut Random) -> &'static str {
    draw(random, &NOUNS)
}

fn draw(random: &mut Random, words: &[&'static str]) -> &'static str {
    words[random.below(words.len() as u64) as usize]
}

fn between(random: &mut Random, least: u64, most: u64) -> u64 {
    least + random.below(most - least + 1)
}
