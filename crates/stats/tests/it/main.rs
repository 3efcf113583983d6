//! Published and independently computed values, properties, and simulated studies.

mod importance;
mod properties;
mod simulations;
mod vectors;
