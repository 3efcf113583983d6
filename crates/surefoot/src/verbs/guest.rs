//! `surefoot guest` and `surefoot guest-init` (hidden): a guest kernel's two ends, outside and inside.

use crate::cli::GuestArgs;
use crate::failure::{Failure, Status};
use guest::boot::Boot;
use guest::init::{self, Line};
use observe::record::Record;
use sandbox::isolation::Isolation;
use sandbox::work::Work;
use std::time::Instant;

/// On the host: isolation, and the kernel in it.
pub fn run(args: &GuestArgs) -> Result<Status, Failure> {
    let work = Work::open(&args.work)?;
    let recording = args.recording.as_deref().map(serde_json::from_str).transpose()?;
    let machine = lab::bench::guest::Enclosed { memory_bytes: args.memory_bytes, disks: &args.disk, recording };
    let status = lab::bench::guest::enclose(&work, &machine, &args.kernel, &args.arguments)?;
    std::process::exit(status)
}

/// In the guest, as its first process: furnish it, run the trial, power off. Ending in any other way is the kernel's panic,
/// which the conductor sees as a trial that ended before it had finished.
pub fn init() -> Result<Status, Failure> {
    init::mount_proc()?;
    let mut line = Line::open()?;
    let ready = Instant::now();
    let boot = line.boot()?;
    let mut records = line.output.try_clone()?;
    match furnish(&boot) {
        Ok(work) => {
            // From this guest's first word, so that it and "start guest" leave nothing out.
            let seconds = ready.elapsed().as_secs_f64();
            lab::trial::say(&mut records, &Record::Step { name: "furnish guest".into(), seconds });
            lab::trial::main(&work, line.input, records, Isolation::Namespaces, None);
        }
        Err(error) => {
            let failure = observe::record::Failure::of("furnish guest", &*error, String::new());
            lab::trial::say(&mut records, &Record::Failed(failure));
        }
    }
    init::power_off(&boot, &line.output)
}

fn furnish(boot: &Boot) -> Result<Work, Box<dyn std::error::Error>> {
    init::furnish(boot)?;
    sandbox::isolation::loopback_up()?;
    // SAFETY: this process has one thread yet.
    unsafe { std::env::set_var("PATH", &boot.path) };
    let work = Work::in_guest(&boot.work)?;
    for (index, image) in boot.images.iter().enumerate() {
        storage::put_disk(&work.folder().join(image), &init::disk_device(index + 1)?)?;
    }
    Ok(work)
}
