//! Compiles what is loaded into a guest kernel's process (`src/registers.c`) to a library that is a part of the program.

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=src/registers.c");
    // Nobody else has such kernels.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let library = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says it")).join("registers.so");
    // Its own options alone: where this program has its C library in it (`+crt-static`), cc's would link that into the library, too.
    let mut compiler = std::process::Command::new(cc::Build::new().get_compiler().path());
    compiler.args(["-O2", "-fPIC", "-Werror", "-shared", "-s", "-o"]).arg(&library).arg("src/registers.c");
    let status = compiler.status().expect("the C compiler starts");
    assert!(status.success(), "{compiler:?} ended with {status}");
}
