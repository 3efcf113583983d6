//! What HTTP loads ask for: pages and files made for it (`site.rs`), and the blogs and wikis of a shared server with their installers
//! (`cms.rs`).
//!
//! Used by the HTTP kinds of `workloads`. Starts no server.

pub mod cms;
pub mod site;
