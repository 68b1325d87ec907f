//! The user's home, settings and programs.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Where the user's home, settings and programs are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostEnv {
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Where programs have their settings: `$XDG_CONFIG_HOME`, else `~/.config`.
    pub settings: Option<PathBuf>,
    /// Where Codex has its settings: `$CODEX_HOME`, else `~/.codex`.
    pub codex_home: Option<PathBuf>,
    /// `$PATH`.
    pub path: Option<OsString>,
}

impl HostEnv {
    /// Reads the environment of this process.
    pub fn new(environment: impl Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Self {
        let directory =
            |name| environment(name).map(PathBuf::from).filter(|directory| directory.is_absolute());
        let settings =
            directory("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
        let codex_home = directory("CODEX_HOME").or_else(|| Some(home.as_ref()?.join(".codex")));
        Self { settings, codex_home, path: environment("PATH"), home }
    }

    /// A file in the user's home.
    pub fn at_home(&self, name: &str) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join(name))
    }

    /// Where desktop programs have the data of this user.
    pub fn application_data(&self) -> Option<PathBuf> {
        match env::consts::OS {
            "macos" => self.at_home("Library/Application Support"),
            _ => self.settings.clone(),
        }
    }

    /// Finds a program on the `PATH`.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        self.program_from(name, Path::new("/"))
    }

    /// Finds a program: on the `PATH`, or relative to a directory if `name` has a `/`, as shells do.
    pub fn program_from(&self, name: &str, directory: &Path) -> Option<PathBuf> {
        let is_executable =
            |file: &PathBuf| file.is_file() && access(file, Access::EXEC_OK).is_ok();
        if name.contains('/') {
            return Some(directory.join(name)).filter(is_executable);
        }
        let directories = env::split_paths(self.path.as_ref()?);
        directories.map(|entry| directory.join(entry).join(name)).find(is_executable)
    }

    /// A path, with `~` for the home.
    pub fn short(&self, path: &Path) -> String {
        let inside = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        match inside {
            Some(inside) if inside.as_os_str().is_empty() => "~".to_owned(),
            Some(inside) => format!("~/{}", inside.display()),
            None => path.display().to_string(),
        }
    }

    /// The command that starts this very program: its name if the `PATH` leads to it, else its absolute path.
    pub fn command(&self, program: &Path) -> String {
        let real = |path: &Path| path.canonicalize().ok();
        let called = self.program(super::PROGRAM);
        if called.is_some_and(|called| real(&called) == real(program)) {
            super::PROGRAM.to_owned()
        } else {
            program.display().to_string()
        }
    }
}

/// Returns true if a path has the name of the program.
pub fn is_program(path: &str) -> bool {
    // An entry may have been written on Windows.
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    name == super::PROGRAM || name.eq_ignore_ascii_case(concat!("ait", ".exe"))
}
