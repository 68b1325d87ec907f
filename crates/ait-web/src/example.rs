//! The way to the example that an empty project offers: the pages of a filled store, which another server shows.

use axum::extract::State;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Redirect;
use tokio::sync::oneshot;

use super::WebState;
use super::actions::handler::SEC_FETCH_SITE;
use super::pages::error::{ErrorPage, WebError};
use super::strings::errors;
use ait_domain::ErrorCode;

/// The path that starts the example and leads to it.
pub(super) const PATH: &str = "/example";
/// The header in which browsers say that they load a page before anyone asks for it.
const SEC_PURPOSE: &str = "sec-purpose";

/// Asks for the port of the example. The answer is that, or why there is no example.
pub type ExampleRequest = oneshot::Sender<Result<u16, String>>;

/// Starts the example, unless it runs, and leads to it.
pub(super) async fn open(
    State(state): State<WebState>,
    request: HeaderMap,
) -> Result<Redirect, ErrorPage> {
    let example = state.example.as_ref().ok_or_else(WebError::not_found)?;
    // Only a reader of these pages starts it: no page of another site, and no browser in advance.
    let is_own = |site: &_| site == "same-origin" || site == "none";
    if !request.get_all(SEC_FETCH_SITE).iter().all(is_own) || request.contains_key(SEC_PURPOSE) {
        return Err(WebError::forbidden(errors::EXAMPLE_FROM_ELSEWHERE).into());
    }
    let (asking, answer) = oneshot::channel();
    let _ends_with_the_server = example.send(asking).await;
    let port = answer.await.unwrap_or_else(|_| Err(errors::SERVER_ENDS.to_owned()));
    let unavailable = |why: String| {
        let text = errors::no_example(&why);
        WebError::plain(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::NotSaved, text)
    };
    let port = port.map_err(unavailable)?;
    // The name by which the reader reached this server.
    let host = request.get(header::HOST).and_then(|host| host.to_str().ok()?.parse().ok());
    let host = host.as_ref().map_or("localhost", Authority::host);
    Ok(Redirect::to(&format!("http://{host}:{port}/")))
}
