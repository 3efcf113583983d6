//! Published and independently computed values, properties, and simulated studies.

mod change_points;
mod fleets;
mod hosts;
mod importance;
mod machine_noise;
mod noise;
mod properties;
mod screening;
mod shares;
mod simulations;
mod stalls;
mod tune;
mod tuned;
mod vectors;
