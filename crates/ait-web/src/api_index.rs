//! The description of `/api` in OpenAPI, and the index that is read from it.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;

use super::WebState;
use super::api::JSON;
use super::etag;

/// The description. It is written by hand; tests compare it with what the server takes and answers.
const OPENAPI: &str = include_str!("openapi.json");
/// The path of the description.
pub(super) const OPENAPI_PATH: &str = "/api/openapi.json";

/// What `/api` takes.
#[derive(Serialize)]
struct Index<'a> {
    openapi: &'static str,
    /// Whether programs may change issues here.
    writes: bool,
    endpoints: Vec<Endpoint<'a>>,
}

/// A method of a path.
#[derive(Serialize)]
struct Endpoint<'a> {
    method: String,
    path: &'a str,
    summary: &'a Value,
}

/// Answers with the methods and paths that this server takes.
pub(super) async fn index(State(state): State<WebState>, request: HeaderMap) -> Response {
    let described: Value = serde_json::from_str(OPENAPI).expect("the description is valid JSON");
    let paths = described["paths"].as_object().into_iter().flatten();
    let operations = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| Endpoint {
            method: method.to_uppercase(),
            path,
            summary: &operation["summary"],
        })
    });
    let writes = state.form_tokens.is_some();
    let endpoints = operations.filter(|endpoint| writes || endpoint.method == "GET").collect();
    let index = Index { openapi: OPENAPI_PATH, writes, endpoints };
    let json = serde_json::to_vec(&index).expect("the index can always be serialized");
    etag::respond(&request, JSON, json)
}

/// Answers with the description.
pub(super) async fn openapi(request: HeaderMap) -> Response {
    etag::respond(&request, JSON, OPENAPI.into())
}
