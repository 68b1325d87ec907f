//! The rich texts of trackers whose fields are HTML, as Markdown and back.
//!
//! What Markdown has no form for, such as colours, is left out. So a text goes back only if it changed here.

/// How the markers of texts begin and end there: HTML comments are removed.
const BEGIN: &str = "(ait:";
const END: char = ')';

/// Returns the Markdown for a text that people wrote in an editor of HTML.
pub(crate) fn to_markdown(html: &str) -> String {
    let mut writer = Writer::default();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        writer.text(&rest[..at]);
        let Some(end) = rest[at..].find('>') else {
            rest = &rest[at..];
            break;
        };
        writer.tag(&rest[at + 1..at + end]);
        rest = &rest[at + end + 1..];
    }
    writer.text(rest);
    writer.finish()
}

/// Returns the HTML for a Markdown text.
pub(crate) fn from_markdown(markdown: &str) -> String {
    let mut options = comrak::Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.render.hardbreaks = true;
    options.render.escape = true;
    comrak::markdown_to_html(markdown, &options).trim_end().to_owned()
}

#[derive(Default)]
struct Writer {
    text: String,
    /// The numbers of the next items of the lists around; `None` for a list of points.
    lists: Vec<Option<usize>>,
    /// The addresses of the links around.
    links: Vec<String>,
    is_preformatted: bool,
}

impl Writer {
    fn text(&mut self, html: &str) {
        let text = decoded(html);
        if self.is_preformatted {
            self.text.push_str(&text);
            return;
        }
        for (index, word) in text.split([' ', '\n', '\r', '\t']).enumerate() {
            let needs_space = !self.text.is_empty() && !self.text.ends_with([' ', '\n']);
            if index > 0 && needs_space {
                self.text.push(' ');
            }
            self.text.push_str(word);
        }
    }

    fn tag(&mut self, tag: &str) {
        let name = tag.trim_end_matches('/').split_whitespace().next().unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "br" => self.line(),
            "p" | "/p" | "div" | "/div" | "table" | "/table" | "tr" => self.paragraph(),
            "blockquote" => {
                self.paragraph();
                self.text.push_str("> ");
            }
            "/blockquote" => self.paragraph(),
            "td" | "th" => self.text(" "),
            "b" | "strong" | "/b" | "/strong" => self.text.push_str("**"),
            "i" | "em" | "/i" | "/em" => self.text.push('*'),
            "code" | "/code" if !self.is_preformatted => self.text.push('`'),
            "pre" => {
                self.paragraph();
                self.text.push_str("```\n");
                self.is_preformatted = true;
            }
            "/pre" => {
                self.is_preformatted = false;
                self.line();
                self.text.push_str("```");
                self.paragraph();
            }
            "ul" => self.begin_list(None),
            "ol" => self.begin_list(Some(1)),
            "/ul" | "/ol" => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.paragraph();
                }
            }
            "li" => self.item(),
            "a" => {
                self.links.push(attribute(tag, "href").unwrap_or_default());
                self.text.push('[');
            }
            "/a" => {
                let address = self.links.pop().unwrap_or_default();
                self.text.push_str(&format!("]({address})"));
            }
            "img" => {
                let address = attribute(tag, "src").unwrap_or_default();
                self.text.push_str(&format!("![]({address})"));
            }
            heading if heading.len() == 2 && heading.starts_with('h') => {
                if let Ok(level @ 1..=6) = heading[1..].parse::<usize>() {
                    self.paragraph();
                    self.text.push_str(&"#".repeat(level));
                    self.text.push(' ');
                }
            }
            heading if heading.len() == 3 && heading.starts_with("/h") => self.paragraph(),
            _ => {}
        }
    }

    fn begin_list(&mut self, first: Option<usize>) {
        if self.lists.is_empty() {
            self.paragraph();
        }
        self.lists.push(first);
    }

    fn item(&mut self) {
        self.line();
        self.text.push_str(&"  ".repeat(self.lists.len().saturating_sub(1)));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.text.push_str(&format!("{number}. "));
                *number += 1;
            }
            _ => self.text.push_str("- "),
        }
    }

    fn line(&mut self) {
        self.trim_spaces();
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn paragraph(&mut self) {
        self.line();
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn trim_spaces(&mut self) {
        let end = self.text.trim_end_matches(' ').len();
        // The mark of an item or a quotation keeps its space.
        if !self.text.ends_with("- ") && !self.text.ends_with("> ") {
            self.text.truncate(end);
        }
    }

    fn finish(self) -> String {
        self.text.trim().to_owned()
    }
}

/// Returns the value of an attribute of a tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let at = tag.to_ascii_lowercase().find(&format!("{name}="))?;
    let value = tag.get(at + name.len() + 1..)?;
    let quote = value.chars().next().filter(|first| ['"', '\''].contains(first));
    let value = match quote {
        Some(quote) => value[1..].split(quote).next()?,
        None => value.split_whitespace().next()?,
    };
    Some(decoded(value))
}

/// Replaces the character references that editors write.
fn decoded(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('&') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.char_indices().take(10).find(|(_, character)| *character == ';');
        let name = end.map_or("", |(end, _)| &rest[1..end]);
        let character = match name {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            "nbsp" => Some(' '),
            _ => numbered(name),
        };
        match character {
            Some(character) => {
                text.push(character);
                rest = &rest[name.len() + 2..];
            }
            None => {
                text.push('&');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

fn numbered(name: &str) -> Option<char> {
    let number = name.strip_prefix('#')?;
    let number = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(number).filter(|character| !character.is_control())
}

/// Returns the HTML of a Markdown text, with its marker at the end of the text.
pub(crate) fn html_of(text: &str) -> String {
    let marker = text
        .rsplit_once("<!-- ait:")
        .and_then(|(before, mark)| Some((before, mark.trim_end().strip_suffix(" -->")?)));
    let Some((text, mark)) = marker else { return from_markdown(text) };
    format!("{}\n<p>{BEGIN}{mark}{END}</p>", from_markdown(text.trim_end()))
}

/// Returns a text from there with its marker as other remotes have it.
pub(crate) fn marked_there(text: &str) -> String {
    let marked = text.trim_end().strip_suffix(END).and_then(|text| text.rsplit_once(BEGIN));
    match marked {
        Some((before, mark)) if mark.len() >= 12 && !mark.contains([' ', '(']) => {
            format!("{}\n\n<!-- ait:{mark} -->", before.trim_end()).trim_start().to_owned()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rich_texts_become_markdown() {
        for (html, markdown) in [
            ("<div>One&nbsp;<b>two</b></div><div>three</div>", "One **two**\n\nthree"),
            ("a<br>b<br/>c", "a\nb\nc"),
            ("<ul><li>a</li><li>b<ol><li>c</li></ol></li></ul>d", "- a\n- b\n  1. c\n\nd"),
            ("<h2>T</h2><p>x &lt; y &amp;&#39;z&#x27;</p>", "## T\n\nx < y &'z'"),
            (r#"<a href="https://a/?b=1&amp;c">d</a>"#, "[d](https://a/?b=1&c)"),
            ("<pre>a\n  b</pre>c", "```\na\n  b\n```\n\nc"),
            ("<span style=\"color:red\">a</span> < b & c", "a < b & c"),
            ("", ""),
        ] {
            assert_eq!(to_markdown(html), markdown, "{html}");
        }
    }

    #[test]
    fn usual_markdown_survives_the_way_there_and_back() {
        for text in
            ["One\n\ntwo", "a **b** *c* `d`", "- a\n- b", "# T\n\nx", "a & b < c", "1. a\n2. b"]
        {
            assert_eq!(to_markdown(&from_markdown(text)), text);
        }
    }

    #[test]
    fn markers_survive_as_text() {
        let mark = "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73";
        let html = html_of(&format!("**a**\n\n<!-- ait:{mark} -->"));
        assert!(html.ends_with(&format!("<p>(ait:{mark})</p>")), "{html}");
        let read = marked_there(&to_markdown(&html));
        assert_eq!(read, format!("**a**\n\n<!-- ait:{mark} -->"));
        assert_eq!(marked_there("see (ait:x)"), "see (ait:x)");
    }
}
