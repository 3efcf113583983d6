//! `surefoot doctor`: what this machine can do, and what would disturb a measurement.

mod noise;

use crate::cli::DoctorArgs;
use crate::failure::{Failure, Status};
use observe::quiet::{Check, CheckStatus};
use std::path::Path;
use storage::StorageSettings;

/// Prints a line a check, with the remedy below what is not well.
pub fn run(args: &DoctorArgs) -> Result<Status, Failure> {
    if args.noise {
        return noise::run(args);
    }
    let work = args.work.as_deref().unwrap_or(Path::new("."));
    let mut checks = observe::quiet::checks(work);
    checks.push(namespaces());
    checks.push(memory_limit());
    checks.push(virtual_disk());
    checks.push(guest_kernel());
    checks.extend(storage::filesystems().iter().map(filesystem));
    checks.extend(services::kinds().iter().map(|kind| service(kind)));
    if args.json {
        println!("{:#}", serde_json::to_value(&checks)?);
        return Ok(Status::Answered);
    }
    for check in &checks {
        let word = match check.status {
            CheckStatus::Ok => "ok",
            CheckStatus::Missing => "missing",
            CheckStatus::Risky => "risky",
        };
        println!("{word:8} {:22} {}", check.name, check.found);
        if let Some(remedy) = &check.remedy {
            println!("{:31} → {remedy}", "");
        }
    }
    Ok(Status::Answered)
}

/// What is there, or what is missing and what to do.
fn check(name: &str, found: Result<String, (String, String)>) -> Check {
    let (status, found, remedy) = match found {
        Ok(found) => (CheckStatus::Ok, found, None),
        Err((found, remedy)) => (CheckStatus::Missing, found, Some(remedy)),
    };
    Check { name: name.into(), status, found, remedy }
}

fn namespaces() -> Check {
    let remedy = sandbox::isolation::REMEDY;
    let granted = sandbox::isolation::available().then(|| "mount, PID, network and IPC".into());
    check("namespaces", granted.ok_or(("the kernel refuses them".into(), remedy.into())))
}

fn memory_limit() -> Check {
    let remedy = "run as root on a kernel with the memory controller; only `memory = …` needs it";
    let granted = sandbox::memory_limit::available().then(|| "a cgroup memory controller may be used".into());
    check("memory limit", granted.ok_or(("no cgroup memory controller".into(), remedy.into())))
}

fn virtual_disk() -> Check {
    let settings = StorageSettings { device: storage::Device::Virtual, ..StorageSettings::default() };
    let missing = storage::missing(&settings).into_iter().next().map(|missing| (missing.what, missing.remedy));
    check("virtual disk", missing.map_or_else(|| Ok("device = \"virtual\" may be used".into()), Err))
}

fn guest_kernel() -> Check {
    let remedy = "install the package user-mode-linux; bench = \"guest\" then needs no root";
    let kernel = lab::bench::guest::kernel(&settings::defaults(study::GUEST));
    let found = kernel.map(|kernel| format!("Linux {}, with {}", kernel.release, filesystems_of(&kernel)));
    check("guest kernel", found.map_err(|error| (error.to_string(), remedy.into())))
}

/// Those that could be made and mounted in a guest.
fn filesystems_of(kernel: &guest::kernel::Kernel) -> String {
    let is_there = |row: &&storage::Filesystem| {
        let settings = StorageSettings { filesystem: row.name.into(), ..StorageSettings::default() };
        storage::missing_in_guest(&settings, &|module| kernel.has(module)).is_empty()
    };
    storage::filesystems().iter().filter(is_there).map(|row| row.name).collect::<Vec<_>>().join(", ")
}

fn service(kind: &'static services::service::Kind) -> Check {
    let missing = (kind.read)(&settings::defaults(kind.settings)).missing();
    let missing = missing.map(|missing| (missing.what, missing.remedy));
    check(kind.name, missing.map_or_else(|| Ok("installed".into()), Err))
}

fn filesystem(filesystem: &'static storage::Filesystem) -> Check {
    let missing = storage::missing_for(filesystem);
    if missing.is_empty() {
        return check(filesystem.name, Ok(format!("kernel and {}", filesystem.mkfs)));
    }
    let (what, remedies): (Vec<String>, Vec<String>) =
        missing.into_iter().map(|missing| (missing.what, missing.remedy)).unzip();
    check(filesystem.name, Err((what.join("; "), remedies.join("; "))))
}
