//! LMDB, a key-value store in a file, mapped by the processes that use it.

use crate::sql::{Engine, PLAIN};

/// The row in the list of engines.
pub static ENGINE: Engine = Engine {
    name: "lmdb",
    is_embedded: true,
    small_row_bytes: 29.5,
    power_cuts_of: &["three-n-plus-one", "key-value"],
    opens_once: true,
    ..PLAIN
};
