//! Waiting for answers on behalf of callers: whether an answer reaches its caller, and what becomes of a claim
//! whose answer does not.
//!
//! A transport keeps the [`Delivery`] of each request until it has passed the answer on; the request takes the
//! [`Caller`] along to where it is worked on. A [`Claim`] goes the way of its answer: from the tool to the caller,
//! from there to the delivery. Wherever that ends too early, the claim is dropped, and so given back. Only a client
//! that goes away with the answer on its way through the network keeps a claim that it does not know of.

use std::future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::FutureExt;
use rmcp::service::{RequestContext, RoleServer};
use tokio_util::sync::CancellationToken;

use super::http::of_http_request;
use super::result::{Failure, Success};
use super::tools::Answer;
use crate::domain::Issue;
use crate::tracker::Tracker;

/// What a claim lapses with that was made, but not answered.
const UNHEARD: &str = "the caller was gone before it was answered";

/// A claim of which its caller has not heard. Gives the issue back when it is dropped.
pub(super) struct Claim {
    tracker: Tracker,
    /// The claimed issue, until the caller has heard of it.
    unheard: Option<Arc<Issue>>,
}

impl Claim {
    /// The claim of an issue that was just made.
    pub fn new(tracker: Tracker, issue: Arc<Issue>) -> Self {
        Self { tracker, unheard: Some(issue) }
    }

    /// Takes note that the caller has heard of it.
    fn heard(mut self) {
        self.unheard = None;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(issue) = self.unheard.take() {
            self.tracker.begin_lapse(issue, UNHEARD);
        }
    }
}

/// The claim that an answer tells of, between those who work on a request and those who pass the answer on.
#[derive(Clone, Default)]
struct Slot(Arc<Mutex<Option<Claim>>>);

impl Slot {
    fn put(&self, claim: Claim) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(claim);
    }

    fn take(&self) -> Option<Claim> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What a request knows of its caller.
#[derive(Clone)]
pub(super) struct Caller {
    gone: CancellationToken,
    claim: Slot,
}

/// The way of an answer to its caller, who is gone when this is dropped before it is [done](Self::done).
pub(super) struct Delivery {
    gone: CancellationToken,
    claim: Slot,
}

/// The two ends of a request. The caller is also gone when `ended` is cancelled.
pub(super) fn delivery(ended: &CancellationToken) -> (Caller, Delivery) {
    let (gone, claim) = (ended.child_token(), Slot::default());
    (Caller { gone: gone.clone(), claim: claim.clone() }, Delivery { gone, claim })
}

impl Caller {
    /// The caller of a request; `None` over a transport that does not tell.
    pub fn of(context: &RequestContext<RoleServer>) -> Option<&Self> {
        context.extensions.get().or_else(|| of_http_request(context))
    }

    fn send_along(&self, claim: Claim) -> bool {
        self.claim.put(claim);
        // A delivery that ended before this has not found it.
        if self.gone.is_cancelled() {
            drop(self.claim.take());
            return false;
        }
        true
    }
}

/// Waits until a caller is gone; for ever over a transport that does not tell.
pub(super) async fn gone(caller: Option<&Caller>) {
    match caller {
        Some(caller) => caller.gone.cancelled().await,
        None => future::pending().await,
    }
}

impl Delivery {
    /// Takes note that the answer was passed on.
    pub fn done(self) {
        if let Some(claim) = self.claim.take() {
            claim.heard();
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.gone.cancel();
        drop(self.claim.take());
    }
}

/// Waits for what a tool gives, for as long as its caller waits for that.
pub(super) async fn awaited(
    answer: Answer,
    cancelled: &CancellationToken,
    caller: Option<&Caller>,
) -> Result<Success, Failure> {
    let withdrawn = || {
        let reason = "the call was cancelled; look with list_issues whether it took effect";
        Err(Failure::cancelled(reason))
    };
    let mut success = tokio::select! {
        outcome = caught(answer) => outcome?,
        // Dropping the answer withdraws a command that was not decided yet, and gives a claim back.
        () = gone(caller) => return withdrawn(),
        () = cancelled.cancelled() => return withdrawn(),
    };
    // They may have gone since it was decided.
    let is_awaited = success.claim.take().is_none_or(|it| is_sent_along(it, cancelled, caller));
    if is_awaited { Ok(success) } else { withdrawn() }
}

/// Waits for an answer; a panic on the way to it is answered too, since nothing else would be.
async fn caught(answer: Answer) -> Result<Success, Failure> {
    AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|_| {
        Err(Failure::panicked(
            "this is a defect of the tracker (details are in its log); \
             look with list_issues whether anything changed before you try again",
        ))
    })
}

/// Sends a claim along with the answer that tells of it. Returns false if nobody waits for that. Over a transport
/// that does not tell of its callers, they count as having heard of it.
fn is_sent_along(claim: Claim, cancelled: &CancellationToken, caller: Option<&Caller>) -> bool {
    if cancelled.is_cancelled() {
        return false;
    }
    let Some(caller) = caller else {
        claim.heard();
        return true;
    };
    caller.send_along(claim)
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use rmcp::model::JsonObject;
    use serde_json::json;

    use super::*;
    use crate::domain::Status;
    use crate::domain::event::LAPSE_ACTION;
    use crate::mcp::testing::{file_issue, only_issue, tracker};
    use crate::mcp::tools::Toolbox;
    use crate::metrics::Outcome;

    fn call(tracker: &Tracker, tool: &str, arguments: serde_json::Value) -> Answer {
        let arguments: JsonObject = serde_json::from_value(arguments).unwrap();
        Toolbox::lifecycle().call(tool, tracker.clone(), arguments).unwrap()
    }

    fn claim(tracker: &Tracker, tool: &str) -> Answer {
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

    /// The issue, once everything is given back.
    async fn in_the_end(tracker: &Tracker) -> (Status, Arc<Issue>) {
        tracker.close().await;
        let issue = only_issue(tracker).await;
        (issue.status, issue)
    }

    fn lapsed(issue: &Issue) {
        let last = issue.history.last().unwrap();
        assert_eq!((last.action.as_str(), last.agent.as_str()), (LAPSE_ACTION, "b"));
        assert_eq!(issue.comments.last().unwrap().text, UNHEARD);
    }

    const CLAIMS: [(&str, Status, Status); 2] = [
        ("get_next_issue", Status::Created, Status::InProgress),
        ("get_next_review_item", Status::Completed, Status::InReview),
    ];

    #[tokio::test]
    async fn a_claim_whose_caller_goes_between_commit_and_answer_lapses() {
        for (tool, before, _) in CLAIMS {
            // Which of them is polled first is left to chance.
            for is_cancelled in [true, false].repeat(8) {
                let cancelled = CancellationToken::new();
                let (caller, delivery) = delivery(&CancellationToken::new());
                let delivery = Mutex::new(Some(delivery));
                let cancels = cancelled.clone();
                let tracker = tracker(move || match is_cancelled {
                    true => cancels.cancel(),
                    false => drop(delivery.lock().unwrap().take()),
                });
                file(&tracker, tool).await;
                let answer = claim(&tracker, tool);
                let Err(failure) = awaited(answer, &cancelled, Some(&caller)).await else {
                    panic!("it is answered")
                };
                assert_eq!(failure.outcome, Outcome::Cancelled);
                let (status, issue) = in_the_end(&tracker).await;
                assert_eq!(status, before, "{tool} {is_cancelled}");
                lapsed(&issue);
            }
        }
    }

    #[tokio::test]
    async fn a_claim_whose_answer_is_not_passed_on_lapses_and_no_other_does() {
        for (tool, before, after) in CLAIMS {
            for is_passed_on in [false, true] {
                let tracker = tracker(|| ());
                file(&tracker, tool).await;
                let (caller, delivery) = delivery(&CancellationToken::new());
                let answer = claim(&tracker, tool);
                let answer = awaited(answer, &CancellationToken::new(), Some(&caller)).await;
                assert!(answer.is_ok() && only_issue(&tracker).await.status == after);
                if is_passed_on {
                    delivery.done();
                } else {
                    drop(delivery);
                }
                drop(caller);
                let (status, issue) = in_the_end(&tracker).await;
                assert_eq!(status, if is_passed_on { after } else { before }, "{tool}");
                if !is_passed_on {
                    lapsed(&issue);
                }
            }
        }
    }

    #[tokio::test]
    async fn a_claim_that_panics_or_is_dropped_on_its_way_lapses() {
        for is_panic in [true, false] {
            let tracker = tracker(|| ());
            file(&tracker, "get_next_issue").await;
            let made = claim(&tracker, "get_next_issue").await.ok();
            assert_eq!(only_issue(&tracker).await.status, Status::InProgress);
            let holding: Answer = async move {
                let _made = made;
                if is_panic {
                    panic_any("on purpose");
                }
                future::pending().await
            }
            .boxed();
            let soon = CancellationToken::new();
            let (answer, ()) = tokio::join!(awaited(holding, &soon, None), async { soon.cancel() });
            assert!(answer.is_err());
            let (status, issue) = in_the_end(&tracker).await;
            assert_eq!(status, Status::Created);
            lapsed(&issue);
        }
    }

    #[tokio::test]
    async fn a_claim_that_was_moved_on_meanwhile_stays_as_it_is() {
        let tracker = tracker(|| ());
        file(&tracker, "get_next_issue").await;
        let made = claim(&tracker, "get_next_issue").await.ok();
        let id = only_issue(&tracker).await.id;
        let done = json!({ "issue_id": id, "comment": "done", "agent": "c" });
        assert!(call(&tracker, "complete_issue", done).await.is_ok());
        drop(made);
        assert_eq!(in_the_end(&tracker).await.0, Status::Completed);
    }

    #[tokio::test]
    async fn a_panic_in_a_tool_is_answered() {
        let panicking: Answer = async { panic!("on purpose") }.boxed();
        let Err(failure) = caught(panicking).await else { panic!("it succeeded") };
        assert!(failure.reason.contains("defect of the tracker"), "{failure:?}");
        assert_eq!(failure.outcome, Outcome::Panicked);
    }
}
