//! The words of `surefoot replay`.

use clap::Args;
use std::path::PathBuf;

/// `replay`.
#[derive(Args)]
pub struct ReplayArgs {
    /// An access log: Common or Combined Log Format, with or without a virtual host before it, or JSON lines; or a database
    /// server's log of statements: PostgreSQL's `stderr`, `csvlog` or `jsonlog`, MariaDB's and MySQL's general or slow log.
    /// Plain, gzip or Zstandard
    pub log: PathBuf,
    /// The server: http://HOST:PORT, https://HOST:PORT, postgres://USER:PASSWORD@HOST:PORT/DATABASE,
    /// mysql://USER:PASSWORD@HOST:PORT/DATABASE; of a socket `postgres://USER@/DATABASE?host=/FOLDER&port=PORT`,
    /// `mysql://USER@/DATABASE?socket=/FILE`. What a log's statements change is changed again there: name a copy of the database. Of
    /// a database, only `--speed`, `--requests`, `--form`, `--log-line-prefix`,
    /// `--database`, `--bad-lines-max`, `--log-bytes-max`, `--threads` and `--json` have a meaning
    pub url: String,
    /// A database server's log is of this form [default: as its beginning says]
    #[arg(long, value_name = "FORM", value_parser = ["stderr", "csv", "json", "general", "slow"])]
    pub form: Option<String>,
    /// The server's `log_line_prefix`, of PostgreSQL's form `stderr` [default: the common one that fits]
    #[arg(long, value_name = "PREFIX")]
    pub log_line_prefix: Option<String>,
    /// Replay the sessions on this database, of a log that has several
    #[arg(long, value_name = "NAME")]
    pub database: Option<String>,
    /// Connections at a time [default: 25]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub connections: Option<u32>,
    /// Use a connection again, instead of a new one for each request
    #[arg(long)]
    pub keep_alive: bool,
    /// Requests that a connection makes before it is closed; more than one keep it open between them, and `--rate` then counts
    /// connections, as httperf's does [default: with `--keep-alive` as many as the server lets it, else one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub calls: u64,
    /// From an answer to the next request on its connection
    #[arg(long, value_name = "SECONDS", value_parser = within(1e-6, 1e6))]
    pub think_time: Option<f64>,
    /// Send at the log's own times, so many times as fast, instead of as fast as the server answers. An access log whose times go
    /// back is refused
    #[arg(long, value_name = "FACTOR", value_parser = within(1e-6, 1e6))]
    pub speed: Option<f64>,
    /// Send so many requests a second, whatever the server does
    #[arg(long, value_name = "PER_SECOND", value_parser = within(1e-3, 1e7), conflicts_with = "speed")]
    pub rate: Option<f64>,
    /// Stop after this many requests, or statements
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
    /// Ask for this Host, whatever the log says [default: the log's virtual hosts, else the URL's host]
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Ask for another Host where the log has this one
    #[arg(long, value_name = "LOGGED=HOST", conflicts_with = "host")]
    pub map: Vec<String>,
    /// Send requests other than GET and HEAD with the body in this file (`/dev/null`: an empty one), instead of leaving them
    /// out
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,
    /// What answers are held against [default: status]
    #[arg(long, value_name = "WHAT")]
    pub expect: Option<Expect>,
    /// A text that each page (2xx in the log) must have: an error page may come with status 200
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub expect_text: Option<String>,
    /// Trust the authorities in this PEM file, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Take any certificate
    #[arg(long, conflicts_with = "ca_file")]
    pub insecure: bool,
    /// An answer that takes longer is an error; in latencies it counts as the time that was waited [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = within(0.01, 1e6))]
    pub timeout: Option<f64>,
    /// Per cent of lines that may be no requests
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = within(0.0, 100.0))]
    pub bad_lines_max: f64,
    /// The most bytes of text that the log may have, decompressed, like 1TiB; a longer one is refused
    #[arg(long, value_name = "SIZE", default_value = "64GiB", value_parser = bytes)]
    pub log_bytes_max: u64,
    /// Threads of the load generator
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: u16,
    /// Drive connections by these calls [default: auto]
    #[arg(long, value_name = "CALLS")]
    pub engine: Option<HttpEngine>,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

/// A number between these two.
fn within(min: f64, max: f64) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text: &str| {
        let number: f64 = text.parse().map_err(|_| "not a number".to_string())?;
        if (min..=max).contains(&number) { Ok(number) } else { Err(format!("must be from {min} to {max}")) }
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    settings::quantity::parse_bytes(text).ok_or_else(|| "not a size like 10GiB".into())
}

/// What a replayed request's answer is held against.
#[derive(clap::ValueEnum, Clone, Copy)]
pub enum Expect {
    /// Nothing
    Nothing,
    /// The class of the logged status; no failure (5xx) where that is the client's doing (101, 408, 499)
    Status,
    /// That, and the logged size of a GET that was answered 200. It must be the body's (`%B`): Debian's Apache logs it with the head (`%O`)
    Size,
}

/// By which calls connections are driven.
#[derive(clap::ValueEnum, Clone, Copy)]
pub enum HttpEngine {
    /// io_uring where the kernel has it, else epoll
    Auto,
    /// io_uring
    #[value(name = "io_uring")]
    Uring,
    /// epoll
    Epoll,
}
