//! Clones in memory: a graph of commits, and a merge of files.

use std::collections::BTreeSet;

use super::history::Clones;

type Merge = fn(&[u8], &[u8], &[u8]) -> Vec<u8>;

struct Commit {
    parents: Vec<usize>,
    file: Vec<u8>,
}

/// Clones whose commits all of them see.
pub struct MemoryClones {
    commits: Vec<Commit>,
    heads: Vec<usize>,
    files: Vec<Vec<u8>>,
    /// For each clone, the file that it stashed, with the one from which that began.
    stashes: Vec<Option<[Vec<u8>; 2]>>,
    merge: Merge,
}

impl MemoryClones {
    /// Returns clones of a repository with an empty commit.
    pub fn new(count: usize, merge: Merge) -> Self {
        let commits = vec![Commit { parents: Vec::new(), file: Vec::new() }];
        let (heads, files) = (vec![0; count], vec![Vec::new(); count]);
        Self { commits, heads, files, stashes: vec![None; count], merge }
    }

    fn push(&mut self, clone: usize, parents: Vec<usize>, file: Vec<u8>) {
        self.heads[clone] = self.commits.len();
        self.files[clone].clone_from(&file);
        self.commits.push(Commit { parents, file });
    }

    fn ancestors(&self, commit: usize) -> BTreeSet<usize> {
        let (mut found, mut rest) = (BTreeSet::new(), vec![commit]);
        while let Some(commit) = rest.pop() {
            if found.insert(commit) {
                rest.extend(&self.commits[commit].parents);
            }
        }
        found
    }

    /// Returns the file of the common ancestor of two commits. If there are several best ones, they are merged first,
    /// as git does.
    fn base(&self, one: usize, other: usize) -> Vec<u8> {
        let common = &self.ancestors(one) & &self.ancestors(other);
        let is_best = |commit: &&usize| {
            !common.iter().any(|later| later != *commit && self.ancestors(*later).contains(commit))
        };
        let best: Vec<_> = common.iter().filter(is_best).copied().collect();
        let mut file = self.commits[best[0]].file.clone();
        for pair in best.windows(2) {
            let base = self.base(pair[0], pair[1]);
            file = (self.merge)(&base, &file, &self.commits[pair[1]].file);
        }
        file
    }
}

impl Clones for MemoryClones {
    fn read(&self, clone: usize) -> Vec<u8> {
        self.files[clone].clone()
    }

    fn write(&mut self, clone: usize, file: &[u8]) {
        self.files[clone] = file.to_vec();
    }

    fn commit(&mut self, clone: usize) {
        let head = self.heads[clone];
        if self.files[clone] != self.commits[head].file {
            self.push(clone, vec![head], self.files[clone].clone());
        }
    }

    fn merge(&mut self, clone: usize, others: &[usize]) {
        for other in others {
            let (ours, theirs) = (self.heads[clone], self.heads[*other]);
            if self.ancestors(ours).contains(&theirs) {
                continue;
            }
            if self.ancestors(theirs).contains(&ours) {
                self.heads[clone] = theirs;
                self.files[clone] = self.commits[theirs].file.clone();
                continue;
            }
            let base = self.base(ours, theirs);
            let file = (self.merge)(&base, &self.commits[ours].file, &self.commits[theirs].file);
            self.push(clone, vec![ours, theirs], file);
        }
    }

    fn rebase(&mut self, clone: usize, onto: usize) {
        let (own, upstream) = (self.heads[clone], self.heads[onto]);
        let own = &self.ancestors(own) - &self.ancestors(upstream);
        self.heads[clone] = upstream;
        self.files[clone] = self.commits[upstream].file.clone();
        // A commit comes after its parents.
        for commit in own {
            let [parent] = self.commits[commit].parents[..] else { continue };
            let base = &self.commits[parent].file;
            let file = (self.merge)(base, &self.files[clone], &self.commits[commit].file);
            self.push(clone, vec![self.heads[clone]], file);
        }
    }

    fn cherry_pick(&mut self, clone: usize, from: usize) {
        let picked = self.heads[from];
        let [parent] = self.commits[picked].parents[..] else { return };
        let base = &self.commits[parent].file;
        let file = (self.merge)(base, &self.files[clone], &self.commits[picked].file);
        self.push(clone, vec![self.heads[clone]], file);
    }

    fn stash(&mut self, clone: usize) {
        let base = self.commits[self.heads[clone]].file.clone();
        self.stashes[clone] = Some([base.clone(), std::mem::replace(&mut self.files[clone], base)]);
    }

    fn pop(&mut self, clone: usize) {
        let Some([base, file]) = self.stashes[clone].take() else { return };
        self.files[clone] = (self.merge)(&base, &self.files[clone], &file);
    }
}
