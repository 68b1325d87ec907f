//! What the server says of itself.

use ait_setup::PRODUCT;
use rmcp::model::{Icon, Implementation, ServerCapabilities, ServerConfig};

/// Returns the name and the capabilities of the server, which may tell clients of changed prompts.
pub(super) fn config(instructions: String, tells_of_prompts: bool) -> ServerConfig {
    let identity = Implementation::new(PRODUCT, env!("CARGO_PKG_VERSION"))
        .with_title("Agent issue tracker")
        .with_icons(vec![icon()]);
    let mut capabilities = ServerCapabilities::builder()
        .enable_tools()
        .enable_prompts()
        .enable_resources()
        .enable_resources_subscribe()
        .enable_completions()
        .enable_skills()
        .build();
    if let Some(prompts) = capabilities.prompts.as_mut().filter(|_| tells_of_prompts) {
        prompts.list_changed = Some(true);
    }
    ServerConfig::new(capabilities).with_server_info(identity).with_instructions(instructions)
}

/// The picture that clients may show beside the name of the server.
fn icon() -> Icon {
    let svg = ait_http::ICON.trim_end().replace("{colour}", "#4a5bd4").replace('"', "'");
    let svg = ['%', '#', '<', '>', ' ']
        .iter()
        .fold(svg, |svg, mark| svg.replace(*mark, &format!("%{:02X}", u32::from(*mark))));
    Icon::new(format!("data:image/svg+xml,{svg}"))
        .with_mime_type("image/svg+xml")
        .with_sizes(vec!["any".to_owned()])
}
