//! Parts of the documentation that tests write.

use std::path::Path;
use std::{env, fs, thread};

/// Expects that a file of the repository has a text between two others, or that the whole file is the text if they are
/// empty. With `INSTA_UPDATE=always`, writes it.
#[track_caller]
pub fn expect_in_file(name: &str, begin: &str, end: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let file = fs::read_to_string(&path).unwrap();
    let (before, rest) = file.split_once(begin).unwrap_or_else(|| panic!("{name} has no {begin}"));
    let at = if end.is_empty() { rest.len() } else { rest.find(end).unwrap() };
    if &rest[..at] == expected {
        return;
    }
    let is_update = env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always");
    let this = thread::current();
    let test = this.name().unwrap();
    assert!(
        is_update,
        "run `INSTA_UPDATE=always cargo test --test it {test}` to bring {name} up to date:\n{expected}"
    );
    fs::write(&path, format!("{before}{begin}{expected}{}", &rest[at..])).unwrap();
}
