//! Runs a tool call until it ends, is cancelled or panics, and passes its claim on to the delivery of the response.

use std::panic::AssertUnwindSafe;

use futures::future::FutureExt;
use tokio_util::sync::CancellationToken;

use super::delivery::{Caller, disconnected};
use super::result::{Answer, Failure};
use super::tools::Call;
use ait_tracker::UndeliveredClaim;

/// Waits for a tool call until it is cancelled or its caller disconnects.
pub(super) async fn run_call(
    call: Call,
    cancelled: &CancellationToken,
    caller: Option<&Caller>,
) -> Result<Answer, Failure> {
    let withdrawn = || {
        let reason = "the call was cancelled; look with list_issues whether it took effect";
        Err(Failure::cancelled(reason).with_next("list_issues"))
    };
    let mut answer = tokio::select! {
        outcome = catch_panic(call) => outcome?,
        // Dropping the call withdraws a command that is not decided yet, and lets a claim lapse.
        () = disconnected(caller) => return withdrawn(),
        () = cancelled.cancelled() => return withdrawn(),
    };
    // The caller may have disconnected since the decision.
    let is_awaited = answer.claim.take().is_none_or(|claim| pass_on(claim, cancelled, caller));
    if is_awaited { Ok(answer) } else { withdrawn() }
}

/// Turns a panic into a failure; rmcp would never respond.
async fn catch_panic(call: Call) -> Result<Answer, Failure> {
    AssertUnwindSafe(call).catch_unwind().await.unwrap_or_else(|_| {
        Err(Failure::panicked(
            "this is a defect of the tracker (details are in its log); \
             look with list_issues whether anything changed before you try again",
        )
        .with_next("list_issues"))
    })
}

/// Passes a claim to the delivery of its response. Returns false if the caller no longer waits for it. Without a
/// delivery the claim is kept.
fn pass_on(
    claim: UndeliveredClaim,
    cancelled: &CancellationToken,
    caller: Option<&Caller>,
) -> bool {
    if cancelled.is_cancelled() {
        return false;
    }
    let Some(caller) = caller else {
        claim.keep();
        return true;
    };
    caller.pass_on(claim)
}

#[cfg(test)]
mod tests {
    use std::future;
    use std::panic::panic_any;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use serde_json::json;

    use super::*;
    use crate::delivery::delivery;
    use crate::testing::{self, file_issue, only_issue, tracker};
    use crate::waiting::WaitingClient;
    use ait_domain::event::{LAPSE_ACTION, TRACKER, UNDELIVERED_REASON};
    use ait_domain::{Issue, Status};
    use ait_http::metrics::CallOutcome;
    use ait_tracker::Tracker;

    fn call(tracker: &Tracker, tool: &str, arguments: serde_json::Value) -> Call {
        testing::call(tracker, tool, arguments, WaitingClient::default())
    }

    fn claim(tracker: &Tracker, tool: &str) -> Call {
        call(tracker, tool, json!({ "agent": "b" }))
    }

    /// Files an issue that `tool` can claim.
    async fn file(tracker: &Tracker, tool: &str) {
        file_issue(tracker).await;
        if tool == "get_next_review_item" {
            let id = only_issue(tracker).await.id;
            let done = json!({ "issue_id": id, "comment": "done", "agent": "a" });
            assert!(call(tracker, "complete_issue", done).await.is_ok());
        }
    }

    /// Returns the issue after all lapses.
    async fn settled(tracker: &Tracker) -> (Status, Arc<Issue>) {
        tracker.close().await;
        let issue = only_issue(tracker).await;
        (issue.status, issue)
    }

    fn assert_lapsed(issue: &Issue) {
        let last = issue.history.last().unwrap();
        assert_eq!((last.action.as_str(), last.agent.as_str()), (LAPSE_ACTION, TRACKER));
        assert_eq!(issue.comments.last().unwrap().text, UNDELIVERED_REASON);
    }

    const CLAIMS: [(&str, Status, Status); 2] = [
        ("get_next_issue", Status::Created, Status::InProgress),
        ("get_next_review_item", Status::Completed, Status::InReview),
    ];

    #[tokio::test]
    async fn a_claim_lapses_if_its_caller_disconnects_after_the_commit() {
        for (tool, before, _) in CLAIMS {
            // `select!` polls its branches in random order.
            for is_cancelled in [true, false].repeat(8) {
                let cancelled = CancellationToken::new();
                let (caller, delivery) = delivery(&CancellationToken::new());
                let delivery = Mutex::new(Some(delivery));
                let cancels = cancelled.clone();
                let tracker = tracker(move |_| {
                    if is_cancelled {
                        cancels.cancel();
                    } else {
                        drop(delivery.lock().unwrap().take());
                    }
                });
                file(&tracker, tool).await;
                let call = claim(&tracker, tool);
                let Err(failure) = run_call(call, &cancelled, Some(&caller)).await else {
                    panic!("the call succeeded")
                };
                assert_eq!(failure.outcome, CallOutcome::Cancelled);
                let (status, issue) = settled(&tracker).await;
                assert_eq!(status, before, "{tool} {is_cancelled}");
                assert_lapsed(&issue);
            }
        }
    }

    #[tokio::test]
    async fn a_claim_after_a_wait_lapses_if_its_caller_is_gone() {
        for is_cancelled in [true, false].repeat(8) {
            let cancelled = CancellationToken::new();
            let (caller, delivery) = delivery(&CancellationToken::new());
            let delivery = Mutex::new(Some(delivery));
            let cancels = cancelled.clone();
            let tracker = tracker(move |is_found| match (is_found, is_cancelled) {
                // The first try, before the wait.
                (false, _) => {}
                (true, true) => cancels.cancel(),
                (true, false) => drop(delivery.lock().unwrap().take()),
            });
            let waiting = json!({ "agent": "b", "wait_seconds": 600 });
            let waiting = call(&tracker, "get_next_issue", waiting);
            let waiting = run_call(waiting, &cancelled, Some(&caller));
            let (outcome, _) = tokio::join!(waiting, file_issue(&tracker));
            assert_eq!(outcome.err().map(|failure| failure.outcome), Some(CallOutcome::Cancelled));
            let (status, issue) = settled(&tracker).await;
            assert_eq!(status, Status::Created);
            assert_lapsed(&issue);
        }
    }

    #[tokio::test]
    async fn waiting_call_tries_again_only_when_an_issue_is_ready() {
        let claims = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&claims);
        let tracker = tracker(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let ended = CancellationToken::new();
        let waiting = json!({ "agent": "b", "classification": "feature", "wait_seconds": 600 });
        let waiting = call(&tracker, "get_next_issue", waiting);
        let others = async {
            for _ in 0..20 {
                file_issue(&tracker).await;
                tokio::task::yield_now().await;
            }
            ended.cancel();
        };
        let (outcome, ()) = tokio::join!(run_call(waiting, &ended, None), others);
        assert!(outcome.is_err());
        assert_eq!(claims.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_claim_lapses_only_if_its_response_is_not_sent() {
        for (tool, before, after) in CLAIMS {
            for is_sent in [false, true] {
                let tracker = tracker(|_| ());
                file(&tracker, tool).await;
                let (caller, delivery) = delivery(&CancellationToken::new());
                let call = claim(&tracker, tool);
                let outcome = run_call(call, &CancellationToken::new(), Some(&caller)).await;
                assert!(outcome.is_ok() && only_issue(&tracker).await.status == after);
                if is_sent {
                    delivery.done();
                } else {
                    drop(delivery);
                }
                drop(caller);
                let (status, issue) = settled(&tracker).await;
                assert_eq!(status, if is_sent { after } else { before }, "{tool}");
                if !is_sent {
                    assert_lapsed(&issue);
                }
            }
        }
    }

    #[tokio::test]
    async fn a_claim_lapses_if_its_call_panics_or_is_dropped() {
        for is_panic in [true, false] {
            let tracker = tracker(|_| ());
            file(&tracker, "get_next_issue").await;
            let made = claim(&tracker, "get_next_issue").await.ok();
            assert_eq!(only_issue(&tracker).await.status, Status::InProgress);
            let holding: Call = async move {
                let _made = made;
                if is_panic {
                    panic_any("on purpose");
                }
                future::pending().await
            }
            .boxed();
            let soon = CancellationToken::new();
            let (outcome, ()) =
                tokio::join!(run_call(holding, &soon, None), async { soon.cancel() });
            assert!(outcome.is_err());
            let (status, issue) = settled(&tracker).await;
            assert_eq!(status, Status::Created);
            assert_lapsed(&issue);
        }
    }

    #[tokio::test]
    async fn a_lapse_does_not_undo_a_later_change() {
        let tracker = tracker(|_| ());
        file(&tracker, "get_next_issue").await;
        let made = claim(&tracker, "get_next_issue").await.ok();
        let id = only_issue(&tracker).await.id;
        let done = json!({ "issue_id": id, "comment": "done", "agent": "c" });
        assert!(call(&tracker, "complete_issue", done).await.is_ok());
        drop(made);
        assert_eq!(settled(&tracker).await.0, Status::Completed);
    }

    #[tokio::test]
    async fn a_panic_in_a_tool_becomes_a_failure() {
        let panicking: Call = async { panic!("on purpose") }.boxed();
        let Err(failure) = catch_panic(panicking).await else { panic!("the call succeeded") };
        assert!(failure.reason.contains("defect of the tracker"), "{failure:?}");
        assert_eq!(failure.outcome, CallOutcome::Panicked);
    }
}
