//! How often what happened in histories, so that a test can tell that it did.

/// How often something happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    pub histories: usize,
    pub changes: usize,
    pub refusals: usize,
    pub reads: usize,
    pub visits: usize,
    pub saves: usize,
    pub failures: usize,
    pub uncertain: usize,
    pub busy: usize,
    pub cuts: usize,
    pub deaths: usize,
    pub touches: usize,
    pub edits: usize,
    pub calls: usize,
}

impl Tally {
    /// Adds those of another history.
    pub fn add(&mut self, other: &Self) {
        for (own, other) in [
            (&mut self.histories, other.histories),
            (&mut self.changes, other.changes),
            (&mut self.refusals, other.refusals),
            (&mut self.reads, other.reads),
            (&mut self.visits, other.visits),
            (&mut self.saves, other.saves),
            (&mut self.failures, other.failures),
            (&mut self.uncertain, other.uncertain),
            (&mut self.busy, other.busy),
            (&mut self.cuts, other.cuts),
            (&mut self.deaths, other.deaths),
            (&mut self.touches, other.touches),
            (&mut self.edits, other.edits),
            (&mut self.calls, other.calls),
        ] {
            *own += other;
        }
    }
}
