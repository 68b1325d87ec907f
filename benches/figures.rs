//! Durations and sizes as the reports print them.

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

/// Returns the value that `percent` of 100 values do not exceed.
pub fn percentile(ascending: &[u64], percent: usize) -> u64 {
    ascending[(ascending.len() - 1) * percent / 100]
}

/// Returns a memory figure of a process, given as `self` or its id. Returns 0 if the system has none.
pub fn memory_bytes(process: &str, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() * 1024
}
