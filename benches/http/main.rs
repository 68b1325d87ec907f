//! What the HTTP side costs: operations a second, their latency, and how much loading pages slows them down.
//!
//! ```text
//! cargo bench -p benches --bench http                  everything
//! cargo bench -p benches --bench http -- pages         the parts whose name is given: beside, operations, page,
//!                                           pages, readers
//! ```
//!
//! See `benches/README.md` for what the tables mean and for results. The server is the real program on
//! a store on the disk that holds the target directory; the clients share one thread of this process.
//! Beside each figure is one of the same run: what it is compared with is measured alternately.

mod beside;
mod client;
mod floor;
mod lived_in;
mod load;
mod operations;
mod page;
mod pages;
mod readers;
mod server;
mod stdio;

use std::io::{self, Write};

use benches::fixture;

/// A part of the report, which prints its tables.
type Part = fn(&mut dyn Write) -> io::Result<()>;

const PARTS: [(&str, Part); 5] = [
    ("beside", beside::report),
    ("operations", operations::report),
    ("page", page::report),
    ("pages", pages::report),
    ("readers", readers::report),
];

fn main() {
    if floor::run() {
        return;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` starts this, too, and wants no figures.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let directory = fixture::make_directory();
    let is_named = |name| arguments.iter().any(|argument| argument == name);
    let all = !PARTS.iter().any(|(name, _)| is_named(name));
    for (_, report) in PARTS.iter().filter(|(name, _)| all || is_named(name)) {
        report(&mut io::stdout()).expect("somebody who reads this");
    }
    directory.close().expect("the directory of the benchmarks can be removed");
}
