//! Whole reports of studies made by hand.

mod answers;
mod fixture;
mod large;
mod outputs;
mod page;
mod sysbench;
