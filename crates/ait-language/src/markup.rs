//! Applies a table to markup as the pages have it: well-formed, with quoted attributes, and `<` and `>` escaped in
//! both texts and attributes.

use std::borrow::Cow;

use super::ENGLISH;
use super::table::Table;

/// The attributes that people read. Those with names of scripts are those that scripts show.
const READ: [&str; 5] = ["title", "aria-label", "placeholder", "alt", "label"];
const OF_SCRIPTS: &str = "data-";
/// An attribute with what a button copies.
const COPIED: &str = "data-copy";
/// Elements with words of users or machines.
const KEPT: [&str; 7] = ["bdi", "code", "kbd", "pre", "script", "style", "textarea"];
/// Elements without an end.
const VOID: [&str; 8] = ["area", "br", "hr", "img", "input", "link", "meta", "wbr"];
/// Attributes of elements with words of users: `dir` says that their direction is not known.
const KEPT_BY: [&str; 2] = [" dir=\"auto\"", " translate=\"no\""];
/// An attribute of elements that have our words nevertheless, such as a reason with the name of an agent.
const TRANSLATED_BY: &str = " translate=\"yes\"";

/// Translates markup.
pub fn translate(markup: &str, tag: &str, table: &Table) -> String {
    let mut out = String::with_capacity(markup.len() + markup.len() / 4);
    let mut rest = markup;
    // How many elements are open, and at which of them the words began that stay as they are.
    let mut depth = 0usize;
    let mut kept = None;
    while !rest.is_empty() {
        let (text, element) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
        let end = element.find('>').map_or(element.len(), |end| end + 1);
        let (element, behind) = element.split_at(end);
        rest = behind;
        if kept.is_some() {
            out.push_str(text);
        } else {
            push_text(&mut out, text, table);
        }
        if element.starts_with("</") {
            depth = depth.saturating_sub(1);
            kept = kept.filter(|at| *at <= depth);
            out.push_str(element);
            continue;
        }
        let name = element.trim_start_matches('<').split([' ', '>']).next().unwrap_or_default();
        let is_void = name.starts_with('!') || VOID.contains(&name);
        let keeps = KEPT.contains(&name) || KEPT_BY.iter().any(|by| element.contains(by));
        let keeps = keeps && !element.contains(TRANSLATED_BY);
        push_element(&mut out, element, keeps && !is_void, tag, table);
        if !is_void {
            kept = kept.or(keeps.then_some(depth + 1));
            depth += 1;
        }
    }
    out
}

/// Adds the text between two tags. Its lines, as tooltips have them, are texts of their own.
fn push_text(out: &mut String, text: &str, table: &Table) {
    for line in text.split_inclusive('\n') {
        let words = line.trim_ascii();
        match text_of(words, table) {
            Some(own) => {
                let before = line.len() - line.trim_ascii_start().len();
                out.push_str(&line[..before]);
                push_escaped(out, &own);
                out.push_str(&line[before + words.len()..]);
            }
            None => out.push_str(line),
        }
    }
}

/// Adds a tag with its attributes. `keeps` says that the element has words of users, which its title may repeat.
fn push_element(out: &mut String, element: &str, keeps: bool, tag: &str, table: &Table) {
    let mut rest = element;
    while let Some((before, value)) = rest.split_once("=\"") {
        let Some((value, behind)) = value.split_once('"') else { break };
        let name = before.rsplit(' ').next().unwrap_or_default();
        let is_read = READ.contains(&name) || name.starts_with(OF_SCRIPTS) && name != COPIED;
        let own = match (name, value) {
            ("lang", ENGLISH) if element.starts_with("<html") => Some(tag.into()),
            _ if is_read && !(keeps && name == "title") => text_of(value, table),
            _ => None,
        };
        out.push_str(before);
        out.push_str("=\"");
        match own {
            Some(own) => push_escaped(out, &own),
            None => out.push_str(value),
        }
        out.push('"');
        rest = behind;
    }
    out.push_str(rest);
}

/// Returns the text for an escaped English one.
fn text_of<'a>(english: &str, table: &'a Table) -> Option<Cow<'a, str>> {
    let has_words = english.contains(char::is_alphabetic);
    has_words.then(|| table.get(&unescaped(english))).flatten()
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&amp;", "&").into()
}

fn push_escaped(out: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"
        [texts]
        "Open" = "Offen"
        "created" = "neu"
        "{} ago" = "vor {}"
        "{n} min" = "{} Min."
        "{text} for {text}" = "seit {2} {1}"
        "A & B" = "<A> \"und\" B"
        "{count} selected" = "{count} gewählt"
    "#;

    fn check(markup: &str, expected: &str) {
        let mut table = Table::new("de").unwrap();
        assert_eq!(table.add(TABLE, None), []);
        assert_eq!(translate(markup, "de", &table), expected);
    }

    #[test]
    fn texts_and_attributes_that_people_read_are_translated() {
        check("<html lang=\"en\"><p> Open </p></html>", "<html lang=\"de\"><p> Offen </p></html>");
        check("<p>3 h ago<br>Open</p>", "<p>vor 3 h<br>Offen</p>");
        check("<p>created for 5 min</p>", "<p>seit 5 Min. neu</p>");
        check("<a title=\"Open\" class=\"Open\">x</a>", "<a title=\"Offen\" class=\"Open\">x</a>");
        check("<b data-many=\"{count} selected\"></b>", "<b data-many=\"{count} gewählt\"></b>");
        check("<p>A &amp; B</p>", "<p>&lt;A&gt; &quot;und&quot; B</p>");
        check("Open", "Offen");
        let own = |text: &str| format!("<p dir=\"auto\" translate=\"yes\">{text}</p>");
        check(&own("Open"), &own("Offen"));
        check("<p>Other</p>", "<p>Other</p>");
    }

    #[test]
    fn words_of_users_stay() {
        for same in [
            "<code>Open</code>",
            "<bdi title=\"Open\">Open</bdi>",
            "<a dir=\"auto\" title=\"Open\">Open<b>Open</b></a>",
            "<span translate=\"no\">Open</span>",
            "<button data-copy=\"Open\">x</button>",
            "<pre>\nOpen\n</pre>",
        ] {
            check(same, same);
        }
        check("<bdi>Open<br></bdi>Open", "<bdi>Open<br></bdi>Offen");
        let input = "<input dir=\"auto\" placeholder=\"Open\">Open";
        check(input, "<input dir=\"auto\" placeholder=\"Offen\">Offen");
    }

    #[test]
    fn broken_markup_ends() {
        for same in ["<", "<a", "<a title=\"", "</a></a>x", "a<b", ">"] {
            check(same, same);
        }
    }
}
