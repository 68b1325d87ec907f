//! The embedded style sheet, script and icon. Their paths contain a hash of the content, so that browsers may
//! cache them forever.

use std::sync::LazyLock;

use axum::Router;
use axum::http::header;
use axum::routing::get;
use xxhash_rust::xxh3::xxh3_64;

/// A file that is embedded in the binary.
pub(super) struct Asset {
    media_type: &'static str,
    body: &'static str,
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
    let media_type = "text/javascript; charset=utf-8";
    Asset::new("script.js", media_type, include_str!("assets/script.js"))
});

pub(super) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")));

impl Asset {
    fn new(name: &str, media_type: &'static str, body: &'static str) -> Self {
        Self { media_type, body, path: format!("/assets/{:016x}/{name}", xxh3_64(body.as_bytes())) }
    }
}

/// Returns the routes of the files.
pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let assets: [&'static LazyLock<Asset>; 3] = [&STYLE, &SCRIPT, &ICON];
    assets.into_iter().fold(Router::new(), |routes, asset| {
        let headers = [
            (header::CONTENT_TYPE, asset.media_type),
            (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        ];
        routes.route(&asset.path, get(move || async move { (headers, asset.body) }))
    })
}
