//! `surefoot load-agent`: drives loads for studies on another machine, or makes the pairing by which the two know each other.

use crate::cli::LoadAgentArgs;
use crate::failure::{Failure, Status};
use agent::Door;
use anyhow::anyhow;

/// Makes a pairing, or serves until it is ended.
pub fn run(args: &LoadAgentArgs) -> Result<Status, Failure> {
    if let Some(name) = &args.pair {
        let [agent, study] = agent::make(name).map_err(refused)?;
        println!("{}: stays here, for `surefoot load-agent --listen ADDRESS:PORT --pairing {0}`", agent.display());
        println!("{}: goes to the machine with the server, for `surefoot run STUDY --pairing FILE`", study.display());
        return Ok(Status::Answered);
    }
    if nix::unistd::geteuid().is_root() {
        let error = anyhow!("a load agent needs no rights, and does not run as root");
        return Err(Failure::new(Status::BadStudy, error).hint("start it as an ordinary user"));
    }
    let (Some(address), Some(pairing)) = (args.listen, args.pairing.clone()) else {
        return Err(Failure::new(Status::BadStudy, anyhow!("`load-agent` takes --listen and --pairing, or --pair")));
    };
    let door = Door { address, pairing, version: env!("SUREFOOT_VERSION"), program: std::env::current_exe()? };
    door.serve(|address| println!("listening on {address}")).map_err(refused)?;
    Ok(Status::Answered)
}

fn refused(error: agent::Error) -> Failure {
    let hint = match &error {
        agent::Error::Everywhere(_) => Some("name the address of one network card, as `ip address` shows it"),
        agent::Error::File { action: "write", .. } => {
            Some("a pairing is never written over: take another name, or remove both files")
        }
        _ => None,
    };
    Failure::new(Status::BadStudy, error).hinted(hint)
}
