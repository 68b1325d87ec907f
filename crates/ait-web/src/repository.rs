//! The pages of the project's repository, to which commits and branches in texts lead.

/// The pages of a repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Repository {
    /// The address without a slash at its end.
    base: String,
    /// What stands before the number of a commit, and before the name of a branch.
    paths: [&'static str; 2],
}

/// The paths of hosts that differ from GitHub, by a part of the name of the host.
const HOSTS: [(&str, [&str; 2]); 5] = [
    ("gitlab", ["/-/commit/", "/-/tree/"]),
    ("bitbucket", ["/commits/", "/branch/"]),
    ("codeberg", ["/commit/", "/src/branch/"]),
    ("forgejo", ["/commit/", "/src/branch/"]),
    ("gitea", ["/commit/", "/src/branch/"]),
];
const GITHUB: [&str; 2] = ["/commit/", "/tree/"];

impl Repository {
    /// Creates the repository with an address, such as `https://github.com/acme/shop`.
    pub fn new(url: &str) -> Self {
        let base = url.trim_end_matches('/').trim_end_matches(".git").to_owned();
        let host = base.split('/').nth(2).unwrap_or_default();
        let known = HOSTS.iter().find(|(part, _)| host.contains(part));
        Self { paths: known.map_or(GITHUB, |(_, paths)| *paths), base }
    }

    /// Returns the address of a commit.
    pub fn commit(&self, hash: &str) -> String {
        format!("{}{}{hash}", self.base, self.paths[0])
    }

    /// Returns the address of a branch, whose name consists of [letters of branches](is_in_branch).
    pub fn branch(&self, name: &str) -> String {
        format!("{}{}{name}", self.base, self.paths[1])
    }
}

/// Returns true for the characters of names of branches that become links. None of them has to be escaped.
pub(super) fn is_in_branch(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '/' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_their_own_paths() {
        for (url, commit, branch) in [
            (
                "https://github.com/a/b/",
                "https://github.com/a/b/commit/1",
                "https://github.com/a/b/tree/x/y",
            ),
            (
                "https://github.com/a/b.git",
                "https://github.com/a/b/commit/1",
                "https://github.com/a/b/tree/x/y",
            ),
            (
                "https://gitlab.a.com/b",
                "https://gitlab.a.com/b/-/commit/1",
                "https://gitlab.a.com/b/-/tree/x/y",
            ),
            (
                "https://codeberg.org/a/b",
                "https://codeberg.org/a/b/commit/1",
                "https://codeberg.org/a/b/src/branch/x/y",
            ),
            (
                "https://bitbucket.org/a/b",
                "https://bitbucket.org/a/b/commits/1",
                "https://bitbucket.org/a/b/branch/x/y",
            ),
        ] {
            let repository = Repository::new(url);
            assert_eq!((&*repository.commit("1"), &*repository.branch("x/y")), (commit, branch));
        }
    }
}
