//! Compiles the kernel by the hipcc on PATH, and says what to link: rocm-rs does not where SKIP_BINDGEN is set.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    let code = PathBuf::from(std::env::var("OUT_DIR").unwrap()).join("scaled_sum.co");
    let done = Command::new("hipcc")
        .args(["--genco", "-O2", "src/scaled_sum.hip", "-o"])
        .arg(&code)
        .status()
        .expect("hipcc is on PATH");
    assert!(done.success(), "hipcc ends with {done}");
    let root = std::env::var("ROCM_PATH").expect("ROCM_PATH names an installation");
    println!("cargo:rerun-if-changed=src/scaled_sum.hip");
    println!("cargo:rerun-if-env-changed=ROCM_PATH");
    println!("cargo:rustc-link-search={root}/lib");
    for library in ["amdhip64", "rocblas", "rocrand", "rocfft", "rocsparse"] {
        println!("cargo:rustc-link-lib={library}");
    }
}
