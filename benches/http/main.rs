//! The cost of HTTP: operations per second, their latency, and how much page loads slow them down.
//!
//! ```text
//! cargo bench -p benches --bench http                  everything
//! cargo bench -p benches --bench http -- pages         the parts whose name is given: operations, page, pages,
//!                                           readers, resources
//! ```
//!
//! See `benches/README.md` for the tables and for results. The server is the real program with a store on the disk of
//! the target directory; the clients share one thread of this process. Each figure is measured alternately with its
//! baseline in the same run.

mod aged_store;
mod baseline;
mod client;
mod load;
mod operations;
mod page;
mod pages;
mod readers;
mod resources;
mod server;
mod stdio;

use std::io::{self, Write};

use benches::fixture;

/// A part of the report, which prints its tables.
type Part = fn(&mut dyn Write) -> io::Result<()>;

const PARTS: [(&str, Part); 5] = [
    ("resources", resources::report),
    ("operations", operations::report),
    ("page", page::report),
    ("pages", pages::report),
    ("readers", readers::report),
];

fn main() {
    if baseline::run() {
        return;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` also starts this program, without `--bench`; it must not measure then.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let directory = fixture::make_directory();
    let is_named = |name| arguments.iter().any(|argument| argument == name);
    let all = !PARTS.iter().any(|(name, _)| is_named(name));
    for (_, report) in PARTS.iter().filter(|(name, _)| all || is_named(name)) {
        report(&mut io::stdout()).expect("standard output is open");
    }
    directory.close().expect("the directory of the benchmarks can be removed");
}
