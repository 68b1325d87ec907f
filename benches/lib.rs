//! Shared parts of the benchmarks: stores of every size, issues of typical length, figures, and the program itself.

pub mod figures;
pub mod fixture;
pub mod issues;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns the target directory in which the running benchmark was built.
pub fn target_directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let program = std::env::current_exe().expect("a benchmark knows its path");
        // <target directory>/release/deps/<benchmark>
        program.ancestors().nth(3).expect("cargo built this").to_owned()
    })
}

/// Returns a command for the released program, which is built on first use.
pub fn ait() -> Command {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).arg("--quiet");
        cargo.args(["build", "--release", "--locked", "--target-dir"]).arg(target_directory());
        // The build of a crate may depend on them, and would be repeated by each of the two calls of cargo.
        let of_package =
            |name: &str| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|all| name.starts_with(all));
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(of_package) {
                cargo.env_remove(name);
            }
        }
        assert!(cargo.status().expect("cargo runs").success(), "the program is not built");
        target_directory().join("release/ait")
    });
    Command::new(program)
}
