//! The errors of answers over `/api`.

pub const NO_TOKEN: &str = "an answer needs `Authorization: Bearer TOKEN` with a read-write token: start the server with \
                            --token-file, and send one of its tokens";
pub const READ_ONLY_TOKEN: &str =
    "this token is read-only: ask the operator of the server for one that may write";
pub const FOREIGN: &str = "pages of other origins may not answer: send the request from a program";
pub const NO_JSON: &str = "an answer must have Content-Type: application/json";

pub fn invalid_body(error: &serde_json::Error) -> String {
    format!(
        "the body is invalid ({error}): send {{\"answer\": TEXT or the number of an option, \"agent\": NAME}}, with \
         \"ifVersion\" if the issue must still have that version"
    )
}
