//! The style sheet, the script and the icon, embedded, at addresses that change with the content, so that
//! they can be cached for good.

use std::sync::LazyLock;

use axum::Router;
use axum::http::header;
use axum::routing::get;
use xxhash_rust::xxh3::xxh3_64;

/// A file that is part of the program.
pub(super) struct Asset {
    kind: &'static str,
    body: &'static str,
    /// Where it is.
    pub path: String,
}

pub(super) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "style.css",
        "text/css; charset=utf-8",
        concat!(
            include_str!("assets/style/base.css"),
            include_str!("assets/style/list.css"),
            include_str!("assets/style/board.css"),
            include_str!("assets/style/agents.css"),
            include_str!("assets/style/activity.css"),
            include_str!("assets/style/stats.css"),
            include_str!("assets/style/issue.css"),
            include_str!("assets/style/errors.css"),
            include_str!("assets/style/print.css"),
        ),
    )
});

pub(super) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let kind = "text/javascript; charset=utf-8";
    Asset::new("script.js", kind, include_str!("assets/script.js"))
});

pub(super) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")));

impl Asset {
    fn new(name: &str, kind: &'static str, body: &'static str) -> Self {
        Self { kind, body, path: format!("/assets/{:016x}/{name}", xxh3_64(body.as_bytes())) }
    }
}

/// The routes of the files.
pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let assets: [&'static LazyLock<Asset>; 3] = [&STYLE, &SCRIPT, &ICON];
    assets.into_iter().fold(Router::new(), |routes, asset| {
        let headers = [
            (header::CONTENT_TYPE, asset.kind),
            (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        ];
        routes.route(&asset.path, get(move || async move { (headers, asset.body) }))
    })
}
