//! TOML → Study → Plan. Pure: no file, clock or process; all randomness comes from a seed.

pub mod trial_spec;
