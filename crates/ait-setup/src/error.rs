//! Why a project cannot be set up. Nothing was written then; each error names the way out.

use std::path::PathBuf;

use super::edit::EditError;

/// Why a project cannot be set up.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SetupError {
    /// No client is in use.
    #[error(
        "no client was found here: run `ait init --client NAME`, where NAME is the client that you use ({known}); \
         nothing was written"
    )]
    NoClient {
        /// The clients that can be named.
        known: String,
    },
    /// The file of a client has no known place on this system.
    #[error(
        "where {client} has its servers is not known on this system: leave it out with --client"
    )]
    NoPlace { client: &'static str },
    /// A file cannot be read.
    #[error(
        "{path} cannot be read ({cause}): make it readable, or name other clients with --client; nothing was written"
    )]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        cause: String,
    },
    /// A file cannot be edited.
    #[error(
        "{path}, {problem}: correct it, or leave its client out with --client; nothing was written"
    )]
    Unusable {
        /// The file.
        path: String,
        /// What is wrong, and where.
        problem: EditError,
    },
    /// Another server has our name.
    #[error(
        "{path} has another server called {name:?}: rename that, leave {client} out with --client, or replace it \
         with --force; nothing was written"
    )]
    Foreign {
        /// The file.
        path: String,
        name: &'static str,
        /// The client that reads the file.
        client: &'static str,
    },
    /// The server of another project has our name.
    #[error(
        "{path} has a server called {name:?} for {store}: {client} has one file for all projects; replace the server \
         with --force, or leave {client} out with --client; nothing was written"
    )]
    OtherProject {
        /// The file.
        path: String,
        name: &'static str,
        /// The store of the other project.
        store: String,
        /// The client that reads the file.
        client: &'static str,
    },
    /// A link leads out of the project.
    #[error(
        "{path} leads to {}, outside of the project: edit that file by hand, or let --force edit it; nothing was \
         written", target.display()
    )]
    Outside {
        /// The file.
        path: String,
        /// The file that it leads to.
        target: PathBuf,
    },
    /// A link leads to no file.
    #[error("{path} is a link that leads nowhere: correct or remove it; nothing was written")]
    Dangling {
        /// The file.
        path: String,
    },
}
