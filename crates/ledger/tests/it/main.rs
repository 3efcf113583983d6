//! The ledger as its users meet it: killed writers, damaged and foreign files, old and new versions, everything read back.

mod checksums;
mod faults;
mod fixture;
mod kills;
mod merging;
mod roundtrip;
mod untouched;
mod versions;
