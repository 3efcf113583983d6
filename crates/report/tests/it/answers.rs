//! What is said in which situation.

use crate::fixture::{self, Row, Table};

#[test]
fn look() {
    println!("{}", report::terminal(&fixture::input(&fixture::filesystems_and_buffers()), 110, false));
    let a = fixture::input(&fixture::filesystems_and_buffers());
    println!("{}", report::compare(&a, &a));
}
