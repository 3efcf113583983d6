//! The database on the disk that fails: embedded, or a server that is started, ended and started again.

use crate::error::Error;
use load::sql;
use sandbox::stage::Stage;
use sandbox::work::Work;
use services::complaints;
use services::service::{self, Place, Running, Service};
use std::io;
use std::path::Path;

/// Messages of a server that are looked through, at most.
const MESSAGES_BYTES_MAX: usize = 1 << 20;

/// One of a worker's.
pub enum Database {
    /// It is in this process.
    Embedded,
    /// It is a process of its own.
    Served(Box<Server>),
}

/// A server, whether it runs or not.
pub struct Server {
    kind: &'static service::Kind,
    service: Box<dyn Service>,
    stage: Stage,
    /// Once it was put on data.
    place: Option<Place>,
    running: Option<Box<dyn Running>>,
}

impl Database {
    /// The one that a load wants, in folders that its user can reach.
    ///
    /// # Errors
    /// When there is none, or no folders.
    pub fn of(wanted: Option<&services::Wanted>, work: &Work) -> Result<Database, Error> {
        let Some(wanted) = wanted else { return Ok(Database::Embedded) };
        let service = wanted.settings.open()?;
        let stage = Stage::set(work).map_err(Error::Stage)?;
        Ok(Database::Served(Box::new(Server { kind: wanted.kind, service, stage, place: None, running: None })))
    }

    /// Starts it on data where none was started before, or where it was cleared away.
    ///
    /// # Errors
    /// What it says when it does not start.
    pub fn start(&mut self, data: &Path) -> Result<sql::Place, String> {
        let Database::Served(server) = self else {
            return Ok(sql::Place { data_folder: data.into(), server: None });
        };
        server.settle(data).map_err(|error| error.to_string())?;
        server.start()
    }

    /// Starts it again after a failure, as an administrator does.
    ///
    /// # Errors
    /// What it says when it can't be repaired or does not start.
    pub fn start_again(&mut self, data: &Path) -> Result<sql::Place, String> {
        if let Database::Served(server) = self {
            if server.place.is_none() {
                server.settle(data).map_err(|error| error.to_string())?;
            }
            // One that still runs would have the data.
            server.running = None;
            let place = server.place.as_ref().expect("it was put on data");
            server.service.repair(place).map_err(|error| words(&error))?;
            return server.start();
        }
        Ok(sql::Place { data_folder: data.into(), server: None })
    }

    /// Whether it is a server that has ended by itself.
    pub fn has_ended(&self) -> bool {
        let Database::Served(server) = self else { return false };
        server.running.as_ref().is_none_or(|running| running.has_ended())
    }

    /// Ends it, in peace if it can be.
    ///
    /// # Errors
    /// What it says when it can't; it is ended by force then.
    pub fn stop(&mut self) -> Result<(), String> {
        let Database::Served(server) = self else { return Ok(()) };
        let stopped = server.running.take().map_or(Ok(()), |running| running.stop());
        stopped.map_err(|error| words(&error))
    }

    /// Ends it by force, if it still runs.
    pub fn kill(&mut self) {
        if let Database::Served(server) = self {
            server.running = None;
        }
    }

    /// Lets go of its data, which are unmounted next; it must have ended.
    ///
    /// # Errors
    /// When they can't be let go.
    pub fn clear(&mut self) -> Result<(), Error> {
        let Database::Served(server) = self else { return Ok(()) };
        server.place = None;
        server.stage.clear().map_err(Error::Clear)
    }

    /// What it has said so far of what it calls errors.
    pub fn complaints(&self) -> Vec<String> {
        let Database::Served(server) = self else { return Vec::new() };
        let Some(place) = &server.place else { return Vec::new() };
        let files = place.run.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        let logs = files.filter(|path| path.is_file()).filter_map(|path| std::fs::read(path).ok());
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes[..bytes.len().min(MESSAGES_BYTES_MAX)]).into_owned();
        logs.flat_map(|bytes| complaints::all(&text(bytes))).collect()
    }
}

impl Server {
    fn settle(&mut self, data: &Path) -> io::Result<()> {
        self.place = Some(self.stage.place(data, self.kind.name, self.service.user().as_ref())?);
        Ok(())
    }

    fn start(&mut self) -> Result<sql::Place, String> {
        // One that still runs would have the data.
        self.running = None;
        let place = self.place.as_ref().expect("it was put on data");
        let running = self.service.start(place).map_err(|error| words(&error))?;
        let socket = running.socket();
        self.running = Some(running);
        Ok(sql::Place { data_folder: place.data.clone(), server: Some(load::workload::Server::by_file(socket)) })
    }
}

/// What happened, and the last that the server complained of.
fn words(error: &service::Error) -> String {
    let last = complaints::all(error.log()).pop().map_or_else(String::new, |line| format!(" ({line})"));
    format!("{error}{last}")
}
