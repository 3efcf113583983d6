//! LMDB, a key-value store in a file, mapped by the processes that use it.

use crate::sql::Engine;

/// The row in the list of engines.
pub static ENGINE: Engine = Engine {
    name: "lmdb",
    page_bytes: 4096,
    is_embedded: true,
    sql: None,
    small_row_bytes: 29.5,
    power_cuts_of: &["three-n-plus-one", "key-value"],
    unmeasured: |_| None,
    opens_once: true,
    file_kind: |_| "database",
};
