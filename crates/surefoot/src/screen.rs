//! The terminal's size. A shell keeps `COLUMNS` to itself, so the terminal is asked.

use std::io::IsTerminal;
use std::os::fd::AsRawFd;

/// Where nothing says how wide it is.
const COLUMNS: usize = 100;
const COLUMNS_MIN: usize = 40;
/// Lines that are longer than a few dozen words are read badly.
const COLUMNS_MAX: usize = 140;
/// Where nothing says how high it is.
const ROWS: usize = 24;

/// Columns and rows of what is written to.
pub fn size(stream: &(impl AsRawFd + IsTerminal)) -> (usize, usize) {
    let mut asked = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the kernel fills in a structure of this type.
    let answer = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCGWINSZ, &raw mut asked) };
    let is_known = stream.is_terminal() && answer == 0;
    let known = |size: u16| Some(usize::from(size)).filter(|size| is_known && *size > 0);
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let columns = said.or(known(asked.ws_col).map(|columns| columns.clamp(COLUMNS_MIN, COLUMNS_MAX)));
    (columns.unwrap_or(COLUMNS), known(asked.ws_row).unwrap_or(ROWS))
}
