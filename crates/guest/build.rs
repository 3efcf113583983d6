//! Compiles what is loaded into a guest kernel's process (`src/registers.c`) to a library that is a part of the program.

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=src/registers.c");
    // Nobody else has such kernels.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let library = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says it")).join("registers.so");
    // The kernel's process has a C library of its own, also where this program has one in it.
    let mut build = cc::Build::new();
    build.opt_level(2).pic(true).static_crt(false).warnings_into_errors(true);
    let mut compiler = build.get_compiler().to_command();
    compiler.args(["-shared", "-s", "-o"]).arg(&library).arg("src/registers.c");
    let status = compiler.status().expect("the C compiler starts");
    assert!(status.success(), "{compiler:?} ended with {status}");
}
