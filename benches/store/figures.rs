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

/// How long a process has had a core until now, to 10 ms; 0 where the system does not tell.
pub fn processor_time(process: u32) -> Duration {
    // `man 5 proc`: the name, in parentheses, is the second field; user and system time are the 14th and
    // 15th, in hundredths of a second on every Linux of today.
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let fields = after_name.split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}
