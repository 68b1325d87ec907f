//! Lets a claim lapse if the response about it does not reach its caller.
//!
//! A transport keeps the [`Delivery`] of each request until it has sent the response; the request carries the
//! [`Caller`] to the tool. An [`UndeliveredClaim`] takes the way of its response: from the tool to the caller, then to
//! the delivery. If either is dropped early, so is the claim, and the issue returns to the queue. Only a client that
//! disconnects while the response is in the network keeps a claim that it does not know of.

use std::future;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::service::{RequestContext, RoleServer};
use tokio_util::sync::CancellationToken;

use super::request_context::extension;
use ait_tracker::UndeliveredClaim;

/// Hands the claim of a response from the tool to the transport.
#[derive(Clone, Default)]
struct Slot(Arc<Mutex<Option<UndeliveredClaim>>>);

impl Slot {
    fn put(&self, claim: UndeliveredClaim) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(claim);
    }

    fn take(&self) -> Option<UndeliveredClaim> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The half of a delivery that goes with the request: the tool puts the claim here.
#[derive(Clone)]
pub(super) struct Caller {
    disconnected: CancellationToken,
    claim: Slot,
}

/// The end of a delivery that the transport keeps. The caller counts as disconnected if it is dropped before it is
/// [done](Self::done).
pub(super) struct Delivery {
    disconnected: CancellationToken,
    claim: Slot,
}

/// Returns the two ends of the delivery of one response. The caller also counts as disconnected once `ended` is
/// cancelled.
pub(super) fn delivery(ended: &CancellationToken) -> (Caller, Delivery) {
    let disconnected = ended.child_token();
    let claim = Slot::default();
    let caller = Caller { disconnected: disconnected.clone(), claim: claim.clone() };
    (caller, Delivery { disconnected, claim })
}

impl Caller {
    /// Returns the caller of a request; `None` over a transport that keeps no deliveries.
    pub fn of(context: &RequestContext<RoleServer>) -> Option<&Self> {
        context.extensions.get().or_else(|| extension(context))
    }

    /// Passes a claim to the delivery. Returns false if the caller has disconnected.
    pub fn pass_on(&self, claim: UndeliveredClaim) -> bool {
        self.claim.put(claim);
        // A delivery that was dropped before the claim was put did not see it.
        if self.disconnected.is_cancelled() {
            drop(self.claim.take());
            return false;
        }
        true
    }
}

/// Waits until a caller disconnects; for ever over a transport that keeps no deliveries.
pub(super) async fn disconnected(caller: Option<&Caller>) {
    match caller {
        Some(caller) => caller.disconnected.cancelled().await,
        None => future::pending().await,
    }
}

impl Delivery {
    /// Reports that the response was sent.
    pub fn done(self) {
        if let Some(claim) = self.claim.take() {
            claim.keep();
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.disconnected.cancel();
        drop(self.claim.take());
    }
}
