//! Writes a parsed text as HTML, where it differs from the default of comrak.

use std::fmt::{self, Write};
use std::ops::Range;

use comrak::Options;
use comrak::html::{ChildRendering, Context, format_document_with_formatter, format_node_default};
use comrak::nodes::{Node, NodeLink, NodeValue, TableAlignment};
use comrak::options::Plugins;

use super::code::{self, write_escaped};
use super::mentions::{Links, Mention, mentions};
use super::references::{self, Reference};
use ait_domain::IssueRef;

/// The state while a text is written.
struct HtmlState<'f> {
    links: &'f Links<'f>,
    written: Written,
    /// The levels, in the source, of the headings that enclose the current position.
    outline: Vec<u8>,
    /// Whether the current heading has a text.
    has_text: bool,
    /// The alignments of the columns of the current table.
    alignments: Vec<TableAlignment>,
    /// Whether the current row of a table is its header, and the current column.
    row: (bool, usize),
}

/// What has been written so far that is longer than its source.
#[derive(Clone, Copy, Default)]
pub(super) struct Written {
    /// The links to what the text names.
    pub mentions: usize,
    /// The blocks of code, and their lines.
    pub blocks: usize,
    pub lines: usize,
}

impl HtmlState<'_> {
    /// Returns the link to what a text names.
    fn link(&self, named: Named<'_>) -> Option<Mention> {
        match named {
            Named::Issue(issue) => (self.links.issue)(&issue),
            Named::Reference(reference) => {
                let repository =
                    self.links.repository.filter(|_| self.written.mentions < MAX_LINKS)?;
                let path = match reference {
                    Reference::Commit(hash) => repository.commit(hash),
                    Reference::Branch(name) => repository.branch(name),
                };
                Some(Mention { path, title: String::new() })
            }
        }
    }
}

type HtmlWriter<'o, 'c, 'f> = Context<'o, 'c, HtmlState<'f>>;

/// The schemes of addresses that become links.
const SCHEMES: [&str; 3] = ["http", "https", "mailto"];
const REL: &str = "nofollow noopener noreferrer";
/// The highest level of headings: those above belong to the page and its sections.
const FIRST_LEVEL: usize = 3;
const LAST_LEVEL: usize = 6;
/// With how many links a text gets no more to the repository.
const MAX_LINKS: usize = 200;

/// Writes a parsed text as HTML, and counts what makes it long. HTML in the text itself becomes visible text.
pub(super) fn write(
    document: Node<'_>,
    options: &Options<'_>,
    links: &Links<'_>,
) -> Option<(String, Written)> {
    let mut html = String::new();
    let plugins = Plugins::default();
    let state = HtmlState {
        links,
        written: Written::default(),
        outline: Vec::new(),
        has_text: false,
        alignments: Vec::new(),
        row: (false, 0),
    };
    let state =
        format_document_with_formatter(document, options, &mut html, &plugins, write_node, state);
    Some((html, state.ok()?.written))
}

fn write_node<'a>(
    context: &mut HtmlWriter<'_, '_, '_>,
    node: Node<'a>,
    entering: bool,
) -> Result<ChildRendering, fmt::Error> {
    match &node.data().value {
        NodeValue::HtmlBlock(block) if entering => write_code_block(context, "", &block.literal)?,
        NodeValue::CodeBlock(block) if entering => {
            write_code_block(context, &block.info, &block.literal)?;
        }
        NodeValue::HtmlInline(text) if entering => write_escaped(context, text)?,
        NodeValue::Code(code) if entering => write_code(context, node, &code.literal)?,
        NodeValue::LineBreak | NodeValue::SoftBreak if entering => context.write_str("<br>\n")?,
        NodeValue::ThematicBreak if entering => {
            context.cr()?;
            context.write_str("<hr>\n")?;
        }
        NodeValue::HtmlBlock(_) | NodeValue::HtmlInline(_) => {}
        NodeValue::Code(_) | NodeValue::CodeBlock(_) => {}
        NodeValue::LineBreak | NodeValue::SoftBreak | NodeValue::ThematicBreak => {}
        NodeValue::Text(text) if entering => write_text(context, node, text)?,
        NodeValue::Heading(heading) => {
            return write_heading(context, node, heading.level, entering);
        }
        NodeValue::Link(link) => return write_link(context, node, link, entering),
        NodeValue::Image(image) => return write_image(context, node, image, entering),
        NodeValue::TaskItem(task) => write_task(context, task.symbol.is_some(), entering)?,
        NodeValue::Table(table) => {
            context.user.alignments.clone_from(&table.alignments);
            return write_table(context, node, entering);
        }
        NodeValue::TableRow(is_header) => {
            context.user.row = (*is_header, 0);
            return format_node_default(context, node, entering);
        }
        NodeValue::TableCell => write_cell(context, entering)?,
        _ => return format_node_default(context, node, entering),
    }
    Ok(ChildRendering::HTML)
}

/// Writes a text with links to what it names.
fn write_text(context: &mut HtmlWriter<'_, '_, '_>, node: Node<'_>, text: &str) -> fmt::Result {
    if is_in_link(node) {
        return write_escaped(context, text);
    }
    let mut written = 0;
    for (place, named) in names_in(text) {
        if place.start < written {
            continue;
        }
        let Some(link) = context.user.link(named) else { continue };
        write_escaped(context, &text[written..place.start])?;
        write_named(context, &link, &text[place.clone()])?;
        written = place.end;
    }
    write_escaped(context, &text[written..])
}

/// Writes a piece of code, as a link if it names something.
fn write_code(context: &mut HtmlWriter<'_, '_, '_>, node: Node<'_>, code: &str) -> fmt::Result {
    let before = node.previous_sibling().map(|before| before.data().value.clone());
    let before = before.and_then(|before| before.text().map(ToString::to_string));
    let whole = |(place, issue): (Range<usize>, _)| {
        (place == (0..code.len())).then_some(Named::Issue(issue))
    };
    let issue = mentions(code).next().and_then(whole);
    let other = references::in_code(code, &before.unwrap_or_default()).map(Named::Reference);
    let named = [issue, other].into_iter().flatten();
    let link = if is_in_link(node) {
        None
    } else {
        named.into_iter().find_map(|named| context.user.link(named))
    };
    context.write_str("<code>")?;
    match link {
        Some(link) => write_named(context, &link, code)?,
        None => write_escaped(context, code)?,
    }
    context.write_str("</code>")
}

/// Something that a text names.
enum Named<'a> {
    Issue(IssueRef),
    Reference(Reference<'a>),
}

/// Returns what a text names, in order; issues before what else is in the same place.
fn names_in(text: &str) -> Vec<(Range<usize>, Named<'_>)> {
    let issues = mentions(text).map(|(place, issue)| (place, Named::Issue(issue)));
    let others = references::references(text);
    let mut named: Vec<_> =
        issues.chain(others.map(|(place, one)| (place, Named::Reference(one)))).collect();
    named.sort_by_key(|(place, _)| place.start);
    named
}

/// Writes a link to what a text names.
fn write_named(context: &mut HtmlWriter<'_, '_, '_>, link: &Mention, text: &str) -> fmt::Result {
    context.write_str("<a href=\"")?;
    context.escape_href(&link.path)?;
    if !link.title.is_empty() {
        context.write_str("\" title=\"")?;
        context.escape(&link.title)?;
    }
    write!(context, "\" rel=\"{REL}\">")?;
    write_escaped(context, text)?;
    context.write_str("</a>")?;
    context.user.written.mentions += 1;
    Ok(())
}

/// Writes a block of code, or of HTML as code.
fn write_code_block(context: &mut HtmlWriter<'_, '_, '_>, info: &str, text: &str) -> fmt::Result {
    context.cr()?;
    context.user.written.blocks += 1;
    context.user.written.lines += text.lines().count();
    code::write_block(context, info, text)
}

/// Writes a heading with the level that fits the outline of the page: the highest heading of a text always gets
/// [`FIRST_LEVEL`], and no level is skipped.
fn write_heading(
    context: &mut HtmlWriter<'_, '_, '_>,
    node: Node<'_>,
    level: u8,
    entering: bool,
) -> Result<ChildRendering, fmt::Error> {
    if entering {
        context.user.has_text = !node.collect_text().trim().is_empty();
        context.cr()?;
        if context.user.has_text {
            context.user.outline.retain(|above| *above < level);
            context.user.outline.push(level);
        } else {
            // Empty headings confuse readers who navigate by headings.
            context.write_str("<p>")?;
            context.write_str(&"#".repeat(level.into()))?;
        }
    }
    let html_level = (FIRST_LEVEL + context.user.outline.len()).saturating_sub(1).min(LAST_LEVEL);
    match (context.user.has_text, entering) {
        (true, true) => write!(context, "<h{html_level}>")?,
        (true, false) => writeln!(context, "</h{html_level}>")?,
        (false, true) => {}
        (false, false) => context.write_str("</p>\n")?,
    }
    Ok(ChildRendering::HTML)
}

/// Writes a link if its scheme is allowed, otherwise its text and address.
fn write_link(
    context: &mut HtmlWriter<'_, '_, '_>,
    node: Node<'_>,
    link: &NodeLink,
    entering: bool,
) -> Result<ChildRendering, fmt::Error> {
    let is_allowed = has_allowed_scheme(&link.url);
    let is_blank = is_blank(node);
    match (is_allowed, entering) {
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

/// Writes an image as a link with its description, because loading it would tell its server who reads the issue
/// and when.
fn write_image(
    context: &mut HtmlWriter<'_, '_, '_>,
    node: Node<'_>,
    image: &NodeLink,
    entering: bool,
) -> Result<ChildRendering, fmt::Error> {
    let is_link = has_allowed_scheme(&image.url) && !is_in_link(node);
    if entering {
        if is_link {
            open_link(context, image)?;
        }
        if is_blank(node) {
            context.escape(&image.url)?;
        }
        // Plain, because links cannot contain links.
        return Ok(ChildRendering::Plain);
    }
    if is_link {
        context.write_str("</a>")?;
    } else if !is_blank(node) {
        write_address(context, &image.url)?;
    }
    Ok(ChildRendering::HTML)
}

fn open_link(context: &mut HtmlWriter<'_, '_, '_>, link: &NodeLink) -> fmt::Result {
    context.write_str("<a href=\"")?;
    context.escape_href(&link.url)?;
    if !link.title.is_empty() {
        context.write_str("\" title=\"")?;
        context.escape(&link.title)?;
    }
    write!(context, "\" rel=\"{REL}\">")
}

fn write_address(context: &mut HtmlWriter<'_, '_, '_>, address: &str) -> fmt::Result {
    if address.is_empty() {
        return Ok(());
    }
    context.write_str(" (<code>")?;
    context.escape(address)?;
    context.write_str("</code>)")
}

fn is_blank(node: Node<'_>) -> bool {
    node.collect_text().trim().is_empty() && !node.descendants().skip(1).any(is_image)
}

fn is_in_link(node: Node<'_>) -> bool {
    node.ancestors().skip(1).any(|above| matches!(above.data().value, NodeValue::Link(_)))
}

fn is_image(node: Node<'_>) -> bool {
    matches!(node.data().value, NodeValue::Image(_))
}

/// Writes a task with a symbol instead of a checkbox, which could not be ticked and would be in the way of
/// keyboard users.
fn write_task(context: &mut HtmlWriter<'_, '_, '_>, is_done: bool, entering: bool) -> fmt::Result {
    if !entering {
        return context.write_str("</li>\n");
    }
    let (symbol, name) = if is_done { ("☑", "done") } else { ("☐", "to do") };
    context.cr()?;
    context.write_str("<li><span role=\"img\" aria-label=\"")?;
    context.escape(name)?;
    write!(context, "\">{symbol}</span> ")
}

/// Writes a table into a container that scrolls, also with the keyboard.
fn write_table(
    context: &mut HtmlWriter<'_, '_, '_>,
    node: Node<'_>,
    entering: bool,
) -> Result<ChildRendering, fmt::Error> {
    if entering {
        context.cr()?;
        // Not a region, or each table would become a landmark of the page.
        context.write_str("<div role=\"group\" tabindex=\"0\" aria-label=\"")?;
        context.escape("Table")?;
        context.write_str("\">")?;
        return format_node_default(context, node, entering);
    }
    let outcome = format_node_default(context, node, entering);
    context.write_str("</div>\n")?;
    outcome
}

/// Writes a cell of a table. Those of the header say that they are above a column.
fn write_cell(context: &mut HtmlWriter<'_, '_, '_>, entering: bool) -> fmt::Result {
    let (is_header, column) = context.user.row;
    let name = if is_header { "th" } else { "td" };
    if !entering {
        context.user.row.1 += 1;
        return write!(context, "</{name}>");
    }
    context.cr()?;
    write!(context, "<{name}")?;
    match context.user.alignments.get(column) {
        Some(TableAlignment::Left) => context.write_str(" align=\"left\"")?,
        Some(TableAlignment::Center) => context.write_str(" align=\"center\"")?,
        Some(TableAlignment::Right) => context.write_str(" align=\"right\"")?,
        Some(TableAlignment::None) | None => {}
    }
    context.write_str(if is_header { " scope=\"col\">" } else { ">" })
}

fn has_allowed_scheme(address: &str) -> bool {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| SCHEMES.contains(&scheme.as_str()))
}
