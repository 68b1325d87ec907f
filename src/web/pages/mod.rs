//! The pages: data in, markup out; one file each. Here is what they share.

pub(super) mod issues;
pub(super) mod not_found;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use axum::http::header;
use axum::response::IntoResponse;
use maud::{DOCTYPE, Markup, html};

const STYLE: &str = include_str!("../assets/style.css");
const ICON: &str = include_str!("../assets/icon.svg");

/// Where the style sheet is. The address changes with the content, so that it can be cached for good.
pub(super) static STYLE_PATH: LazyLock<String> = LazyLock::new(|| address_of("style.css", STYLE));
/// Where the icon is.
pub(super) static ICON_PATH: LazyLock<String> = LazyLock::new(|| address_of("icon.svg", ICON));

/// How often a page loads itself anew.
const REFRESH_S: u32 = 30;

/// The style sheet.
pub(super) async fn style() -> impl IntoResponse {
    asset("text/css; charset=utf-8", STYLE)
}

/// The icon.
pub(super) async fn icon() -> impl IntoResponse {
    asset("image/svg+xml", ICON)
}

fn asset(kind: &'static str, body: &'static str) -> impl IntoResponse {
    let headers =
        [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "max-age=31536000, immutable")];
    (headers, body)
}

fn address_of(name: &str, content: &str) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("/assets/{:016x}/{name}", hasher.finish())
}

/// A page around its content.
fn layout(title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="refresh" content=(REFRESH_S);
                title { (title) }
                link rel="icon" href=(*ICON_PATH) type="image/svg+xml";
                link rel="stylesheet" href=(*STYLE_PATH);
            }
            body {
                header.top {
                    a.brand href="/" {
                        img src=(*ICON_PATH) alt="" width="28" height="28";
                        "Issue tracker"
                    }
                    span.quiet { "reloads every " (REFRESH_S) " s" }
                }
                main { (content) }
            }
        }
    }
}
