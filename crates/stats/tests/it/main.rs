//! Published and independently computed values, properties, and simulated studies.

mod importance;
mod noise;
mod properties;
mod simulations;
mod tune;
mod tuned;
mod vectors;
