//! The embedded style sheet, scripts and icon. Their paths contain a hash of the content, so that browsers may
//! cache them forever. The icons are those of the project.

use std::borrow::Cow;
use std::sync::LazyLock;

use axum::Router;
use axum::http::header;
use axum::routing::get;
use xxhash_rust::xxh3::xxh3_64;

/// A file that pages load.
#[derive(Clone)]
pub(super) struct Asset {
    media_type: &'static str,
    pub body: Cow<'static, str>,
    pub path: String,
}

pub(super) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "style.css",
        "text/css; charset=utf-8",
        concat!(
            include_str!("assets/style/base.css"),
            include_str!("assets/style/list.css"),
            include_str!("assets/style/attention.css"),
            include_str!("assets/style/board.css"),
            include_str!("assets/style/agents.css"),
            include_str!("assets/style/activity.css"),
            include_str!("assets/style/stats.css"),
            include_str!("assets/style/issue.css"),
            include_str!("assets/style/actions.css"),
            include_str!("assets/style/dialogs.css"),
            include_str!("assets/style/appearance.css"),
        ),
    )
});

pub(super) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let media_type = "text/javascript; charset=utf-8";
    Asset::new(
        "script.js",
        media_type,
        concat!(
            "\"use strict\";\n(() => {\n",
            include_str!("assets/script/stream.js"),
            include_str!("assets/script/morph.js"),
            include_str!("assets/script/live.js"),
            include_str!("assets/script/times.js"),
            include_str!("assets/script/controls.js"),
            include_str!("assets/script/act.js"),
            include_str!("assets/script/palette.js"),
            include_str!("assets/script/keyboard.js"),
            include_str!("assets/script/notify.js"),
            include_str!("assets/script/wall.js"),
            "})();\n",
        ),
    )
});

/// The script that runs before a page is painted.
pub(super) static APPEARANCE: LazyLock<Asset> = LazyLock::new(|| {
    let media_type = "text/javascript; charset=utf-8";
    Asset::new("appearance.js", media_type, include_str!("assets/script/appearance.js"))
});

/// The worker that all pages of a browser share.
pub(super) static WORKER: LazyLock<Asset> = LazyLock::new(|| {
    let media_type = "text/javascript; charset=utf-8";
    Asset::new(
        "worker.js",
        media_type,
        concat!(
            "\"use strict\";\n",
            include_str!("assets/script/stream.js"),
            include_str!("assets/script/worker.js"),
        ),
    )
});

impl Asset {
    /// Creates a file. Its name ends the path.
    pub fn new(name: &str, media_type: &'static str, body: impl Into<Cow<'static, str>>) -> Self {
        let body = body.into();
        let path = format!("/assets/{:016x}/{name}", xxh3_64(body.as_bytes()));
        Self { media_type, body, path }
    }
}

/// Returns the routes of the files.
pub(super) fn routes<'a, S: Clone + Send + Sync + 'static>(
    icons: impl Iterator<Item = &'a Asset>,
) -> Router<S> {
    let assets = [STYLE.clone(), SCRIPT.clone(), APPEARANCE.clone(), WORKER.clone()];
    assets.into_iter().chain(icons.cloned()).fold(Router::new(), |routes, asset| {
        let headers = [
            (header::CONTENT_TYPE, asset.media_type),
            (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        ];
        let Asset { body, path, .. } = asset;
        routes.route(&path, get(move || async move { (headers, body) }))
    })
}
