//! `http-load`: requests for files of a site, in a closed loop as http_load and wrk make them, or at a rate as httperf does.
//!
//! The site is files of one size, made once; each request draws one of them, and its answer must have that size. Driven by
//! `lab::trial`; the server is a service.

use crate::http_client::settings::{self as sending, Sending};
use crate::http_client::{self, Pace, Source, Task};
use crate::noise::Noise;
use crate::random::Random;
use crate::workload::{Context, Error, Estimate, Kind, Outcome, Workload};
use http::request::Request;
use observe::durability::Durability;
use observe::metric::{Direction, Measured, Metric};
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::{Kind as Is, Setting};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "http-load",
    summary: "HTTP requests for files of a site, in a closed loop or at a rate, as http_load, wrk and httperf make them",
    example: "[workload.http-load]\nfiles = 1000\nfile_size = \"10KiB\"\nconnections = 25\ntime = \"30s\"\n",
    settings: SETTINGS,
    metrics: |_| sending::metrics(),
    durability: |_| Durability::full(),
    estimate: |map| {
        let parameters = Parameters::of(map);
        let bytes = parameters.files * parameters.file_size.max(BLOCK_BYTES);
        Estimate { data_bytes: bytes, load_seconds: bytes as f64 / 1e8, run_seconds: parameters.time }
    },
    check: |_| Vec::new(),
    service: |map| sending::SERVERS.iter().copied().find(|server| map["server"] == *server),
    data_key: |map| {
        let parameters = Parameters::of(map);
        format!("site, {} files of {} bytes", parameters.files, parameters.file_size)
    },
    open: |map| Ok(Box::new(HttpLoad { parameters: Parameters::of(map), runs: 0 })),
};

/// A small file takes a block.
const BLOCK_BYTES: u64 = 4096;

/// Files of a folder.
const FOLDER_FILES: u64 = 1000;

const SETTINGS: &[Setting] = &[
    sending::SERVER,
    Setting {
        name: "files",
        kind: Is::Integer { min: 1, max: 100_000_000 },
        default: Some("1"),
        help: "Files of the site; each request draws one of them, all alike.",
    },
    Setting {
        name: "file_size",
        kind: Is::Bytes { min: 1, max: 1 << 40 },
        default: Some("590B"),
        help: "Size of a file. 590 bytes are those of a well-known comparison of 2003.",
    },
    sending::CONNECTIONS,
    sending::KEEP_ALIVE,
    sending::RATE,
    Setting { name: "time", kind: Is::Seconds { min: 0.1, max: 1e6 }, default: Some("10s"), help: "Length of a run." },
    sending::TIMEOUT,
    sending::DRIVER_THREADS,
    sending::CALLS,
];

#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    files: u64,
    file_size: u64,
    time: f64,
    #[serde(flatten)]
    sending: Sending,
}

impl Parameters {
    fn of(map: &Map<String, Value>) -> Parameters {
        serde_json::from_value(Value::Object(map.clone())).expect("the settings' check makes these types")
    }
}

/// Path of a file of the site.
fn name(number: u64) -> String {
    format!("{}/{number}", number / FOLDER_FILES)
}

/// The workload at work.
struct HttpLoad {
    parameters: Parameters,
    runs: u64,
}

impl HttpLoad {
    /// The file of this number is there and has its size.
    fn check(&self, site: &Path, number: u64) -> Result<(), Error> {
        let path = site.join(name(number));
        let found = std::fs::metadata(&path).map_err(|source| Error::file("look at", &path, source))?.len();
        if found == self.parameters.file_size {
            return Ok(());
        }
        Err(Error::WrongData {
            place: path.display().to_string(),
            expected: format!("{} bytes", self.parameters.file_size),
            found: format!("{found} bytes"),
        })
    }
}

impl Workload for HttpLoad {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        let started = Instant::now();
        let noise = Noise::new(context.seed);
        let mut bytes = vec![0; usize::try_from(self.parameters.file_size).expect("a file fits into memory")];
        for number in 0..self.parameters.files {
            let path = site(context).join(name(number));
            let folder = path.parent().expect("a file has a folder");
            if number % FOLDER_FILES == 0 {
                std::fs::create_dir_all(folder).map_err(|source| Error::file("create", folder, source))?;
            }
            noise.fill(&mut bytes, number);
            std::fs::write(&path, &bytes).map_err(|source| Error::file("write", &path, source))?;
        }
        Ok(vec![Metric::new("load_seconds", "s", Direction::Less).at(started.elapsed().as_secs_f64())])
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        self.runs += 1;
        let address = sending::address(context)?;
        let random = Random::of_stream(context.seed, self.runs);
        let parameters = &self.parameters;
        let mut source = Drawn { parameters, host: address.to_string(), random };
        let window = Some(Duration::from_secs_f64(parameters.time));
        let client = parameters.sending.client(address, Pace::Closed, window);
        let (tally, rates) = http_client::drive(&client, &mut source, context.interrupted, context.progress)?;
        Ok(sending::outcome(tally, rates))
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        (0..self.parameters.files).try_for_each(|number| self.check(&site(context), number))
    }
}

fn site(context: &Context) -> PathBuf {
    context.data_folder.join("site")
}

/// Requests for files drawn by seed.
struct Drawn<'a> {
    parameters: &'a Parameters,
    host: String,
    random: Random,
}

impl Source for Drawn<'_> {
    fn next(&mut self, request: &mut Vec<u8>) -> Result<Option<Task>, Error> {
        let target = format!("/{}", name(self.random.below(self.parameters.files)));
        let (target, host, keep_alive) = (target.as_bytes(), self.host.as_bytes(), self.parameters.sending.keep_alive);
        Request { method: b"GET", target, host, referer: b"", agent: b"", keep_alive, body: None }.write(request);
        Ok(Some(Task { class: Some(2), body_bytes: Some(self.parameters.file_size), ..Task::default() }))
    }
}
