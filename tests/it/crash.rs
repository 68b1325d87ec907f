//! Processes killed at any moment: every acknowledged change survives, and the store opens again.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::files::{
    STORE_FILES, kept, names, store_directory, stored_issues, wait_for_file,
};
use crate::support::{Client, directory};

const ROUNDS: u64 = 12;
const PROCESSES: usize = 4;

/// The changes that a client saw acknowledged before it was killed.
#[derive(Default)]
struct Acknowledged {
    filed: Vec<String>,
    claimed: Vec<String>,
}

/// Files and claims issues until the process is killed after `life`.
fn work_until_killed(directory: &Path, life: Duration) -> Acknowledged {
    let mut client = Client::start(directory);
    let kill = format!("sleep {:.3}; kill -9 {}", life.as_secs_f64(), client.pid());
    let mut killer = std::process::Command::new("sh").args(["-c", &kill]).spawn().unwrap();
    let mut acknowledged = Acknowledged::default();
    let (mut filing, mut claiming) = (Vec::new(), Vec::new());
    // Several calls are always in flight, so the kill hits them at different stages. The pipe breaks when the process
    // is gone.
    for number in 0.. {
        let add = json!({ "title": format!("t{number}"), "description": "x".repeat(2000), "classification": "bug", "agent": "a" });
        let (Some(add), Some(claim)) = (
            try_ask(&mut client, "add_issue", add),
            try_ask(&mut client, "get_next_issue", json!({ "agent": "a" })),
        ) else {
            break;
        };
        filing.push(add);
        claiming.push(claim);
        if number >= 3 {
            let Some(answer) = client.answer(filing[number - 3]) else { break };
            acknowledged.filed.push(crate::support::id_in(&answer.ok()));
            let Some(answer) = client.answer(claiming[number - 3]) else { break };
            acknowledged.claimed.extend(claimed_id(&answer.ok()));
        }
    }
    killer.wait().unwrap();
    acknowledged
}

fn try_ask(client: &mut Client, tool: &str, arguments: Value) -> Option<u64> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| client.ask_tool(tool, arguments))).ok()
}

fn claimed_id(answer: &str) -> Option<String> {
    let issue = serde_json::from_str::<Value>(answer).ok()?;
    Some(issue["id"].as_str()?.to_owned())
}

#[test]
fn acknowledged_changes_survive_killed_processes() {
    let directory = directory();
    let path = directory.path();
    let (mut filed, mut claimed) = (HashSet::new(), HashMap::new());
    let rounds = ROUNDS * crate::support::factor();
    for round in 0..10 * rounds {
        // On a slow disk little happens in a round.
        if round >= rounds && filed.len() > 50 && claimed.len() > 50 {
            break;
        }
        let results: Vec<Acknowledged> = thread::scope(|scope| {
            let workers: Vec<_> = (0..PROCESSES as u64)
                .map(|number| {
                    let life = Duration::from_millis(120 + 74 * ((round * 5 + number * 3) % 11));
                    scope.spawn(move || work_until_killed(path, life))
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        for acknowledged in results {
            filed.extend(acknowledged.filed);
            for id in acknowledged.claimed {
                *claimed.entry(id).or_insert(0) += 1;
            }
        }
        let issues = stored_issues(path);
        let status: HashMap<_, _> = issues
            .iter()
            .map(|issue| (issue["id"].as_str().unwrap(), issue["status"].as_str().unwrap()))
            .collect();
        for id in &filed {
            assert!(status.contains_key(id.as_str()), "round {round}: {id} is lost");
        }
        for (id, times) in &claimed {
            assert_eq!(*times, 1, "round {round}: {id} was claimed {times} times");
            assert_eq!(
                status[id.as_str()],
                "in_progress",
                "round {round}: the claim of {id} is lost"
            );
        }
    }
    assert!(filed.len() > 50 && claimed.len() > 50, "{} {}", filed.len(), claimed.len());
    // The next process that writes removes the files that the killed ones left.
    let mut client = Client::start(path);
    client.add("after all", "bug");
    let all = stored_issues(path).len();
    wait_for_file(path, |issues| issues.len() == all);
    client.close();
    assert_eq!(names(path), STORE_FILES);
    let own = store_directory(path);
    let left = names(&own);
    assert!(!left.iter().any(|name| name.ends_with(".tmp")), "{left:?}");
    assert_eq!(kept(path), Vec::<PathBuf>::new());
}
