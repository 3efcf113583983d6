//! A database that is asked what is there after power cuts.

use crate::error::Error;
use sandbox::stage::Stage;
use sandbox::work::Work;
use services::service::{self, Place, Service};
use std::path::Path;

/// What is found of a database after a power cut.
pub struct Recovered {
    /// The rows of each answer.
    pub answers: Vec<Vec<Vec<Option<String>>>>,
    /// The transactions that a replica would be told of, if there is a log for replicas.
    pub logged: Option<Vec<String>>,
}

/// A database that is asked what is there after power cuts, on the data of one after the other.
pub struct Asked {
    kind: &'static services::service::Kind,
    service: Box<dyn Service>,
    stage: Stage,
}

impl Asked {
    /// With folders that its user can reach.
    ///
    /// # Errors
    /// When there is no such database, or the folders can't be made.
    pub fn new(wanted: &services::Wanted, work: &Work) -> Result<Asked, Error> {
        let service = wanted.settings.open()?;
        Ok(Asked { kind: wanted.kind, service, stage: Stage::set(work).map_err(Error::Stage)? })
    }

    /// Starts it on data as they were found, asks and ends it.
    ///
    /// # Errors
    /// When it does not come up, or refuses to answer.
    pub fn ask(&mut self, data: &Path, questions: &[String]) -> Result<Recovered, Error> {
        let recovered = self.ask_on_stage(data, questions);
        self.stage.clear().map_err(Error::Stage)?;
        recovered
    }

    fn ask_on_stage(&mut self, data: &Path, questions: &[String]) -> Result<Recovered, Error> {
        // What can't be read is the data's fault, not the stage's.
        let opened = std::fs::create_dir_all(data).and_then(|()| data.read_dir());
        opened.map_err(service::Error::file("open", data))?;
        let place = self.stage.place(data, self.kind.name, self.service.user().as_ref()).map_err(Error::Stage)?;
        asked(&*self.service, &place, questions).map_err(|error| match is_of_machine(&error, &place.data) {
            true => Error::Machine(error),
            false => Error::Service(error),
        })
    }
}

fn asked(service: &dyn Service, place: &Place, questions: &[String]) -> Result<Recovered, service::Error> {
    let answers = service.ask_recovered(place, questions)?;
    Ok(Recovered { answers, logged: service.logged(place)? })
}

/// Whether it is the machine that failed: the kernel killed the server, its program could not be started, or its run has no room. Files of
/// its data are the data's fault.
fn is_of_machine(error: &service::Error, data: &Path) -> bool {
    if let service::Error::File { path, .. } = error { !path.starts_with(data) } else { error.was_killed() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_fails_to_do_is_no_fault_of_the_data() {
        let data = Path::new("/run/surefoot/postgres-data");
        let ended = |status: &str| service::Error::Program {
            program: "postgres".into(),
            status: status.into(),
            log: String::new(),
        };
        let refused = |path: &str| service::Error::file("write", path)(std::io::ErrorKind::StorageFull.into());
        let asked = |error: service::Error| is_of_machine(&error, data);
        assert!(asked(ended("signal 9")) && asked(refused("/run/surefoot/postgres/recovered.conf")));
        assert!(asked(refused("/usr/lib/postgresql/15/bin/postgres")), "no process could be started");
        assert!(!asked(ended("signal 6")) && !asked(ended("status 1")), "it gave up");
        assert!(!asked(refused("/run/surefoot/postgres-data/postmaster.pid")));
        let slow =
            service::Error::Slow { server: "postgres".into(), action: "recover", seconds: 60, log: String::new() };
        assert!(!asked(slow), "we ended it ourselves");
    }

    #[test]
    fn data_that_can_not_be_opened_are_the_databases_fault() {
        let folder = tempfile::tempdir().expect("a folder");
        let work = Work::open(&folder.path().join("work")).expect("ours");
        let data = folder.path().join("data");
        std::fs::write(&data, "no folder").expect("a file");
        let wanted = services::wanted(&["postgres"], &std::collections::BTreeMap::new()).pop().expect("known");
        let failed = Asked::new(&wanted, &work).expect("installed").ask(&data, &[]).err().expect("no folder");
        assert!(matches!(failed, Error::Service(service::Error::File { action: "open", .. })), "{failed}");
    }
}
