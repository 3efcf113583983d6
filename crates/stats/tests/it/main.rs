//! Published and independently computed values, properties, and simulated studies.

mod properties;
mod simulations;
mod vectors;
