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

fn namespaces() -> Check {
    let granted = sandbox::isolation::available();
    Check {
        name: "namespaces".into(),
        status: if granted { CheckStatus::Ok } else { CheckStatus::Missing },
        found: if granted { "mount, PID, network and IPC" } else { "the kernel refuses them" }.into(),
        remedy: (!granted).then(|| "run as root, or allow user namespaces: kernel.unprivileged_userns_clone=1".into()),
    }
}

fn memory_limit() -> Check {
    let granted = sandbox::memory_limit::available();
    Check {
        name: "memory limit".into(),
        status: if granted { CheckStatus::Ok } else { CheckStatus::Missing },
        found: if granted { "a cgroup memory controller may be used" } else { "no cgroup memory controller" }.into(),
        remedy: (!granted)
            .then(|| "run as root on a kernel with the memory controller; only `memory = …` needs it".into()),
    }
}

fn virtual_disk() -> Check {
    let settings = StorageSettings { device: storage::Device::Virtual, ..StorageSettings::default() };
    let missing = storage::missing(&settings).into_iter().next();
    let granted = "device = \"virtual\" may be used";
    Check {
        name: "virtual disk".into(),
        status: if missing.is_none() { CheckStatus::Ok } else { CheckStatus::Missing },
        found: missing.as_ref().map_or_else(|| granted.into(), |missing| missing.what.clone()),
        remedy: missing.map(|missing| missing.remedy),
    }
}

fn guest_kernel() -> Check {
    let (status, found, remedy) = match lab::bench::guest::kernel(&settings::defaults(study::GUEST)) {
        Ok(kernel) => (CheckStatus::Ok, format!("Linux {}, with {}", kernel.release, filesystems_of(&kernel)), None),
        Err(error) => {
            let remedy = "install the package user-mode-linux; bench = \"guest\" then needs no root";
            (CheckStatus::Missing, error.to_string(), Some(remedy.into()))
        }
    };
    Check { name: "guest kernel".into(), status, found, remedy }
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
    Check {
        name: kind.name.into(),
        status: if missing.is_none() { CheckStatus::Ok } else { CheckStatus::Missing },
        found: missing.as_ref().map_or_else(|| "installed".into(), |missing| missing.what.clone()),
        remedy: missing.map(|missing| missing.remedy),
    }
}

fn filesystem(filesystem: &'static storage::Filesystem) -> Check {
    let missing = storage::missing_for(filesystem);
    Check {
        name: filesystem.name.into(),
        status: if missing.is_empty() { CheckStatus::Ok } else { CheckStatus::Missing },
        found: if missing.is_empty() {
            format!("kernel and {}", filesystem.mkfs)
        } else {
            missing.iter().map(|missing| missing.what.clone()).collect::<Vec<_>>().join("; ")
        },
        remedy: (!missing.is_empty())
            .then(|| missing.iter().map(|missing| missing.remedy.clone()).collect::<Vec<_>>().join("; ")),
    }
}
