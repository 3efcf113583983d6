//! The threads of a load: they begin together when all are ready, end when one fails or the user interrupts, and say their speed each second.

use crate::ticker::Ticker;
use crate::workload::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, mpsc};
use std::thread::{Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// The watching thread looks this often whether the others have ended.
const LOOK: Duration = Duration::from_millis(5);

/// What the threads of a run share.
pub struct Control<'a> {
    interrupted: &'a AtomicBool,
    has_failed: AtomicBool,
    done: Done,
}

/// Operations that are done, on a cache line of their own: who only looks whether it is to end waits for none that counts.
#[repr(align(64))]
struct Done(AtomicU64);

/// What the threads of a run came to.
pub struct Ended<T> {
    /// What each of them gave, in their order.
    pub parts: Vec<T>,
    /// From the first one's begin, once all were ready, to the end of the last.
    pub seconds: f64,
    /// What was done in each whole second.
    pub rates: Vec<f64>,
}

/// Adds what a part counted to what all did: the fields of these names.
#[macro_export]
macro_rules! add_up {
    ($all:expr, $part:expr; $($field:ident),+) => { $($all.$field += $part.$field;)+ };
}

impl<'a> Control<'a> {
    /// `interrupted` is set when the user interrupts.
    pub fn new(interrupted: &'a AtomicBool) -> Control<'a> {
        Control { interrupted, has_failed: AtomicBool::new(false), done: Done(AtomicU64::new(0)) }
    }

    /// So many more operations are done.
    pub fn count(&self, operations: u64) {
        self.done.0.fetch_add(operations, Ordering::Relaxed);
    }

    /// Operations that are done.
    pub fn done(&self) -> u64 {
        self.done.0.load(Ordering::Relaxed)
    }

    /// Whether the threads are to end: one has failed, or the user interrupts.
    pub fn is_over(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed) || self.interrupted.load(Ordering::Relaxed)
    }

    /// Runs a thread for each input: `ready` connects and prepares, outside the measured time; `work` is what is measured.
    ///
    /// # Errors
    /// The first one of a thread, as it is the cause of the others; when the user interrupts.
    pub fn run<I: Send, R, T: Send>(
        &self,
        inputs: Vec<I>,
        ready: impl Fn(usize, I) -> Result<R, Error> + Sync,
        work: impl Fn(R) -> Result<T, Error> + Sync,
        progress: &mut dyn FnMut(f64, f64),
    ) -> Result<Ended<T>, Error> {
        let ended = self.run_until(inputs, ready, work, progress)?;
        Error::if_interrupted(self.interrupted)?;
        Ok(ended)
    }

    /// The same; where the user interrupts, what was done until then.
    ///
    /// # Errors
    /// The first one of a thread.
    pub fn run_until<I: Send, R, T: Send>(
        &self,
        inputs: Vec<I>,
        ready: impl Fn(usize, I) -> Result<R, Error> + Sync,
        work: impl Fn(R) -> Result<T, Error> + Sync,
        progress: &mut dyn FnMut(f64, f64),
    ) -> Result<Ended<T>, Error> {
        let (count, gate, first_error) = (inputs.len(), RwLock::new(()), Mutex::new(None));
        let fail = |error: Error| {
            first_error.lock().expect("no thread panics with it").get_or_insert(error);
            self.has_failed.store(true, Ordering::Relaxed);
        };
        let (ended, rates) = std::thread::scope(|scope| {
            let (gate, fail, ready, work) = (&gate, &fail, &ready, &work);
            let closed = gate.write().unwrap_or_else(PoisonError::into_inner);
            let (tell, told) = mpsc::channel();
            let start = |(number, input)| {
                let tell = tell.clone();
                let one = move || {
                    wake_on_time();
                    let ready = ready(number, input);
                    // Who is told waits for all, and opens the gate.
                    let _ = tell.send(());
                    drop(tell);
                    drop(gate.read());
                    // Told by who works: on a busy machine the watching thread may come back when all is done.
                    let began = Instant::now();
                    let worked = ready.and_then(work).map_err(fail);
                    (worked.ok(), began, Instant::now())
                };
                Builder::new().spawn_scoped(scope, one)
            };
            let mut running = Vec::new();
            for started in inputs.into_iter().enumerate().map(start) {
                match started {
                    Ok(thread) => running.push(thread),
                    Err(source) => {
                        let limit = "ask for fewer, or raise the limit of processes (`ulimit -u`, or a container's)";
                        fail(Error::engine("the load", format!("start its {count} threads: {limit}"), source));
                        break;
                    }
                }
            }
            drop(tell);
            // Of one that panicked nothing comes, once no other can tell any more.
            for _ in &running {
                let _ = told.recv();
            }
            drop(closed);
            let have_ended = || running.iter().all(ScopedJoinHandle::is_finished);
            let rates = Ticker::start(Instant::now()).watch(LOOK, have_ended, &self.done.0, progress);
            let join = |thread: ScopedJoinHandle<'_, _>| thread.join().expect("a load does not panic");
            (running.into_iter().map(join).collect::<Vec<_>>(), rates)
        });
        if let Some(error) = first_error.into_inner().expect("no thread panics with it") {
            return Err(error);
        }
        let (first, last) = (ended.iter().map(|one| one.1).min(), ended.iter().map(|one| one.2).max());
        let seconds = first.zip(last).map_or(0.0, |(first, last)| last.duration_since(first).as_secs_f64());
        let parts = ended.into_iter().filter_map(|(part, ..)| part).collect();
        Ok(Ended { parts, seconds, rates })
    }
}

/// Lets the calling thread wake when it wants to: the kernel adds 50 µs by default (prctl(2), `PR_SET_TIMERSLACK`), which is more than many an answer
/// takes, and in an open loop would count as the server's. Where the system refuses, it adds them.
fn wake_on_time() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_timerslack(1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_kernel_adds_nothing_to_the_waits_of_a_loads_threads() {
        let interrupted = AtomicBool::new(false);
        let slack = |()| Ok(nix::sys::prctl::get_timerslack().expect("the thread's"));
        let control = Control::new(&interrupted);
        let ended = control.run(vec![(); 2], |_, ()| Ok(()), slack, &mut |_, _| {}).expect("all do well");
        assert_eq!(ended.parts, [1, 1]);
    }

    #[test]
    fn what_is_counted_shares_no_cache_line_with_what_all_look_at() {
        let of =
            [std::mem::offset_of!(Control<'static>, interrupted), std::mem::offset_of!(Control<'static>, has_failed)];
        let counted = std::mem::offset_of!(Control<'static>, done) / 64;
        assert!(of.into_iter().all(|at| at / 64 != counted) && std::mem::align_of::<Control<'static>>() == 64);
    }

    fn fails(what: &str) -> Error {
        Error::engine(what, "work", io::Error::other("no"))
    }

    #[test]
    fn all_begin_when_the_last_is_ready_and_the_time_ends_with_the_last() {
        let interrupted = AtomicBool::new(false);
        let control = Control::new(&interrupted);
        let connect = |number: usize, wait: u64| {
            std::thread::sleep(Duration::from_millis(wait));
            Ok((number, Instant::now()))
        };
        let work = |(number, ready): (usize, Instant)| {
            let began = Instant::now();
            std::thread::sleep(Duration::from_millis(20 * (number as u64 + 1)));
            control.count(3);
            Ok((number, ready, began))
        };
        let ended = control.run(vec![0, 150, 0], connect, work, &mut |_, _| {}).expect("all do well");
        let last_ready = ended.parts.iter().map(|part| part.1).max();
        assert!(ended.parts.iter().all(|part| Some(part.2) >= last_ready));
        assert_eq!(ended.parts.iter().map(|part| part.0).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(ended.seconds >= 0.06, "{}", ended.seconds);
        assert_eq!(control.done(), 9);
    }

    #[test]
    fn the_time_holds_all_of_the_work_however_short() {
        let interrupted = AtomicBool::new(false);
        for _ in 0..200 {
            let control = Control::new(&interrupted);
            let work = |()| {
                let began = Instant::now();
                (0..1000).for_each(|number| control.count(number % 2));
                Ok(began.elapsed().as_secs_f64())
            };
            let ended = control.run(vec![(); 4], |_, ()| Ok(()), work, &mut |_, _| {}).expect("all do well");
            let longest = ended.parts.iter().copied().fold(0.0, f64::max);
            assert!(ended.seconds >= longest && longest > 0.0, "{} of {longest}", ended.seconds);
        }
    }

    #[test]
    fn the_first_failure_ends_all_and_is_the_one_that_is_told() {
        let interrupted = AtomicBool::new(false);
        let control = Control::new(&interrupted);
        let work = |number: usize| {
            if number == 1 {
                return Err(fails("the cause"));
            }
            while !control.is_over() {
                std::thread::yield_now();
            }
            Err::<(), _>(fails("a consequence"))
        };
        let ended = control.run(vec![(); 3], |number, ()| Ok(number), work, &mut |_, _| {});
        assert!(ended.is_err_and(|error| error.to_string().contains("the cause")));
    }

    #[test]
    fn who_is_not_ready_fails_the_run_and_holds_up_nobody() {
        let interrupted = AtomicBool::new(false);
        let control = Control::new(&interrupted);
        let ready = |number: usize, ()| if number == 0 { Err(fails("no connection")) } else { Ok(()) };
        assert!(control.run(vec![(); 2], ready, |()| Ok(()), &mut |_, _| {}).is_err());
    }

    /// Those that were there had waited for the others until the trial's time was over. In a process of its own, of a user who may have three.
    #[cfg(target_os = "linux")]
    #[test]
    fn threads_that_the_system_refuses_fail_the_run_and_hold_up_nobody() {
        use nix::sys::resource::{Resource, setrlimit};
        // SAFETY: the child uses its own handles only, and ends without the test harness's exit.
        let status = match unsafe { nix::unistd::fork() }.expect("a process") {
            nix::unistd::ForkResult::Child => {
                // SAFETY: numbers: `nobody`, as root has no limit, and seconds, by which a child that waits for ever is ended.
                unsafe { (libc::setuid(65534), libc::alarm(60)) };
                setrlimit(Resource::RLIMIT_NPROC, 3, 3).expect("lowered");
                let interrupted = AtomicBool::new(false);
                let control = Control::new(&interrupted);
                let ended = control.run(vec![(); 256], |_, ()| Ok(()), |()| Ok(()), &mut |_, _| {});
                let is_told = ended.is_err_and(|error| error.to_string().contains("start its 256 threads"));
                // SAFETY: as above.
                unsafe { libc::_exit(if is_told { 7 } else { 8 }) }
            }
            nix::unistd::ForkResult::Parent { child } => nix::sys::wait::waitpid(child, None).expect("it ends"),
        };
        assert!(matches!(status, nix::sys::wait::WaitStatus::Exited(_, 7)), "{status:?}");
    }

    #[test]
    fn an_interrupted_run_has_no_figure() {
        let interrupted = AtomicBool::new(true);
        let control = Control::new(&interrupted);
        let ended = control.run(vec![()], |_, ()| Ok(()), |()| Ok(()), &mut |_, _| {});
        assert!(matches!(ended, Err(Error::Interrupted)));
        let kept = control.run_until(vec![()], |_, ()| Ok(()), |()| Ok(7), &mut |_, _| {}).expect("nothing failed");
        assert_eq!(kept.parts, [7], "who asks for it has what was done");
    }
}
