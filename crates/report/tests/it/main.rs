//! Whole reports of studies made by hand.

mod answers;
mod fixture;
mod http_forms;
mod large;
mod outputs;
mod page;
mod sysbench;
