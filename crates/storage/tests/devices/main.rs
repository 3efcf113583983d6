//! Storage on the real kernel: real loop devices, real mkfs, real mounts. Needs root.

mod faults;
mod filesystems;
mod guard;
mod world;
