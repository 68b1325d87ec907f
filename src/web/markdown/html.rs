//! A parsed text as HTML, where that differs from what every writer of Markdown makes of it.

use std::fmt::{self, Write};

use comrak::Options;
use comrak::html::{ChildRendering, Context, format_document_with_formatter, format_node_default};
use comrak::nodes::{Node, NodeLink, NodeValue};
use comrak::options::Plugins;

use super::clean::SCHEMES;
use super::shape::is_in_link;
use crate::web::words::markdown::Markdown;

/// What is known while a text is written.
struct State<'w> {
    words: &'w Markdown,
    /// The levels of the headings that the next one can be below.
    outline: Vec<u8>,
    /// Whether the heading that is being written has a text.
    in_heading: bool,
}

type Writing<'o, 'c, 'w> = Context<'o, 'c, State<'w>>;

/// The highest level that a heading can have: above it are the title of the page and of its section.
const FIRST_LEVEL: usize = 3;
const LAST_LEVEL: usize = 6;

/// The HTML of a parsed text, in which nothing is left of HTML that the text itself holds but its letters.
pub(super) fn written(
    document: Node<'_>,
    options: &Options<'_>,
    words: &Markdown,
) -> Option<String> {
    let mut html = String::new();
    let state = State { words, outline: Vec::new(), in_heading: false };
    let plugins = Plugins::default();
    let writing =
        format_document_with_formatter(document, options, &mut html, &plugins, write, state);
    writing.is_ok().then_some(html)
}

fn write<'a>(
    context: &mut Writing<'_, '_, '_>,
    node: Node<'a>,
    entering: bool,
) -> Result<ChildRendering, fmt::Error> {
    match &node.data().value {
        NodeValue::HtmlBlock(block) if entering => write_html_block(context, &block.literal)?,
        NodeValue::HtmlInline(text) if entering => context.escape(text)?,
        NodeValue::HtmlBlock(_) | NodeValue::HtmlInline(_) => {}
        NodeValue::Heading(heading) => {
            return write_heading(context, node, heading.level, entering);
        }
        NodeValue::Link(link) => return write_link(context, node, link, entering),
        NodeValue::Image(image) => return write_image(context, node, image, entering),
        NodeValue::TaskItem(task) => write_task(context, task.symbol.is_some(), entering)?,
        NodeValue::Table(_) => return write_table(context, node, entering),
        _ => return format_node_default(context, node, entering),
    }
    Ok(ChildRendering::HTML)
}

/// Shows a block of HTML to its letters.
fn write_html_block(context: &mut Writing<'_, '_, '_>, text: &str) -> fmt::Result {
    context.cr()?;
    context.write_str("<pre><code>")?;
    context.escape(text)?;
    context.write_str("</code></pre>\n")
}

/// Gives a heading the level that fits the outline of the page: the highest one in a text is always of
/// [`FIRST_LEVEL`], and none is skipped, whichever levels the writer has taken.
fn write_heading(
    context: &mut Writing<'_, '_, '_>,
    node: Node<'_>,
    level: u8,
    entering: bool,
) -> Result<ChildRendering, fmt::Error> {
    if entering {
        context.user.in_heading = !node.collect_text().trim().is_empty();
        context.cr()?;
        if context.user.in_heading {
            context.user.outline.retain(|above| *above < level);
            context.user.outline.push(level);
        } else {
            // A heading without a text leads those astray who go from heading to heading.
            context.write_str("<p>")?;
            context.write_str(&"#".repeat(level.into()))?;
        }
    }
    let rank = (FIRST_LEVEL + context.user.outline.len()).saturating_sub(1).min(LAST_LEVEL);
    match (context.user.in_heading, entering) {
        (true, true) => write!(context, "<h{rank}>")?,
        (true, false) => writeln!(context, "</h{rank}>")?,
        (false, true) => {}
        (false, false) => context.write_str("</p>\n")?,
    }
    Ok(ChildRendering::HTML)
}

/// Makes a link of an address that a browser may follow; of any other, the text with the address.
fn write_link(
    context: &mut Writing<'_, '_, '_>,
    node: Node<'_>,
    link: &NodeLink,
    entering: bool,
) -> Result<ChildRendering, fmt::Error> {
    let (leads, is_blank) = (leads_somewhere(&link.url), is_blank(node));
    match (leads, entering) {
        (true, true) => {
            open_link(context, link)?;
            if is_blank {
                context.escape(&link.url)?;
            }
        }
        (true, false) => context.write_str("</a>")?,
        (false, true) => {}
        (false, false) if is_blank => context.escape(&link.url)?,
        (false, false) => write_address(context, &link.url)?,
    }
    Ok(ChildRendering::HTML)
}

/// Makes a link of an image, with its description as the text: an image would tell whoever keeps it
/// that, and when, an issue is read.
fn write_image(
    context: &mut Writing<'_, '_, '_>,
    node: Node<'_>,
    image: &NodeLink,
    entering: bool,
) -> Result<ChildRendering, fmt::Error> {
    let is_link = leads_somewhere(&image.url) && !is_in_link(node);
    if entering {
        if is_link {
            open_link(context, image)?;
        }
        if is_blank(node) {
            context.escape(&image.url)?;
        }
        // Plain, because there is no link within a link.
        return Ok(ChildRendering::Plain);
    }
    if is_link {
        context.write_str("</a>")?;
    } else if !is_blank(node) {
        write_address(context, &image.url)?;
    }
    Ok(ChildRendering::HTML)
}

fn open_link(context: &mut Writing<'_, '_, '_>, link: &NodeLink) -> fmt::Result {
    context.write_str("<a href=\"")?;
    context.escape_href(&link.url)?;
    if !link.title.is_empty() {
        context.write_str("\" title=\"")?;
        context.escape(&link.title)?;
    }
    context.write_str("\">")
}

fn write_address(context: &mut Writing<'_, '_, '_>, address: &str) -> fmt::Result {
    if address.is_empty() {
        return Ok(());
    }
    context.write_str(" (<code>")?;
    context.escape(address)?;
    context.write_str("</code>)")
}

fn leads_somewhere(address: &str) -> bool {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| SCHEMES.contains(&scheme.as_str()))
}

fn is_blank(node: Node<'_>) -> bool {
    node.collect_text().trim().is_empty() && !node.descendants().skip(1).any(is_image)
}

fn is_image(node: Node<'_>) -> bool {
    matches!(node.data().value, NodeValue::Image(_))
}

/// Shows a box as a sign: one that cannot be ticked would only be in the way of those who use a keyboard.
fn write_task(context: &mut Writing<'_, '_, '_>, is_done: bool, entering: bool) -> fmt::Result {
    if !entering {
        return context.write_str("</li>\n");
    }
    let words = context.user.words;
    let (sign, name) = if is_done { ("☑", words.done) } else { ("☐", words.to_do) };
    context.cr()?;
    context.write_str("<li><span role=\"img\" aria-label=\"")?;
    context.escape(name)?;
    write!(context, "\">{sign}</span> ")
}

/// Puts a table into a box that can be scrolled, with the keyboard too.
fn write_table(
    context: &mut Writing<'_, '_, '_>,
    node: Node<'_>,
    entering: bool,
) -> Result<ChildRendering, fmt::Error> {
    if entering {
        let name = context.user.words.table;
        context.cr()?;
        // A group and not a region: a page would have as many landmarks as tables.
        context.write_str("<div role=\"group\" tabindex=\"0\" aria-label=\"")?;
        context.escape(name)?;
        context.write_str("\">")?;
        return format_node_default(context, node, entering);
    }
    let outcome = format_node_default(context, node, entering);
    context.write_str("</div>\n")?;
    outcome
}
