//! Times and sizes as the reports give them. Shared with the benchmark of the HTTP side.

use std::time::{Duration, Instant};

pub fn timed<T>(act: impl FnOnce() -> T) -> u64 {
    let begun = Instant::now();
    let result = act();
    let took = begun.elapsed();
    drop(result);
    ns(took)
}

pub fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

pub fn us(ns: u64) -> f64 {
    Duration::from_nanos(ns).as_secs_f64() * 1e6
}

/// The value that so many of a hundred do not exceed.
pub fn percentile(ascending: &[u64], percent: usize) -> u64 {
    ascending[(ascending.len() - 1) * percent / 100]
}

/// A figure on the memory of a process, `self` or its number; 0 where the system does not tell.
pub fn memory_bytes(process: &str, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() * 1024
}
