//! Tests that every text is rendered as safe HTML within the limits.

mod adversarial_inputs;

use std::time::{Duration, Instant};

use proptest::prelude::*;

use self::adversarial_inputs::adversarial_inputs;
use super::{Links, MAX_CELL_BYTES, MAX_CHARS, MAX_GROWTH, MAX_SMALL_CELLS, MIN_LIMIT_BYTES};

/// The elements that rendered texts may contain.
const ELEMENTS: [&str; 29] = [
    "a",
    "blockquote",
    "br",
    "button",
    "code",
    "del",
    "details",
    "div",
    "em",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "ins",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "summary",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

/// The attributes that each element may have. Elements that are not listed may have none.
const ATTRIBUTES: [(&str, &[&str]); 8] = [
    ("a", &["href", "title", "rel"]),
    ("button", &["class", "type", "hidden", "aria-label", "data-copied"]),
    ("div", &["class", "role", "tabindex", "aria-label"]),
    ("ol", &["start"]),
    ("pre", &["tabindex"]),
    ("span", &["role", "aria-label"]),
    ("td", &["align"]),
    ("th", &["align", "scope"]),
];

fn render(text: &str) -> String {
    super::render(text, &Links::NONE).into_string()
}

/// Panics unless HTML is well-formed and contains only what is on the allow-lists. Expects the output of a
/// serializer, in which `<` and `"` never stand for themselves.
fn check(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    for piece in html.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        assert!(!text.contains('>'), "{piece}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{html}");
            continue;
        }
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(ELEMENTS.contains(&name), "<{tag}>");
        let known = ATTRIBUTES.iter().find(|(element, _)| *element == name);
        while let Some((attribute, rest)) = attributes.split_once("=\"") {
            let (value, rest) = rest.split_once('"').expect("a value ends");
            let attribute = attribute.trim();
            let is_allowed = match (name, attribute) {
                ("a", "rel") => value == "nofollow noopener noreferrer",
                // The note above plain text, which no text can produce.
                ("p", "class") => value == "note",
                _ => known.is_some_and(|(_, names)| names.contains(&attribute)),
            };
            assert!(is_allowed, "{attribute}={value:?} in <{tag}>");
            let schemes = ["http:", "https:", "mailto:"];
            let has_scheme = |scheme: &&str| value.to_ascii_lowercase().starts_with(scheme);
            assert!(attribute != "href" || schemes.iter().any(has_scheme), "<{tag}>");
            attributes = rest;
        }
        assert!(attributes.trim().is_empty(), "<{tag}>");
        if !matches!(name, "br" | "hr") {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?} is not closed");
}

#[test]
fn renders_github_flavoured_markdown() {
    for (text, expected) in [
        (
            "a **b** _c_ ~~d~~ `e`",
            "<p>a <strong>b</strong> <em>c</em> <del>d</del> <code>e</code></p>",
        ),
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        (
            "```rust\nlet x = 1 < 2;\n```",
            "<div class=\"code\"><pre><code>let x = 1 &lt; 2;\n</code></pre><button class=\"copy\" type=\"button\" \
             hidden=\"\" aria-label=\"Copy the code\" data-copied=\"Code copied.\">Copy</button></div>",
        ),
        ("3. three\n4. four", "<ol start=\"3\">\n<li>three</li>\n<li>four</li>\n</ol>"),
        (
            "- [x] a\n- [ ] b",
            "<ul>\n<li><span role=\"img\" aria-label=\"done\">☑</span> a</li>\n<li><span role=\"img\" aria-label=\"to do\">☐</span> b</li>\n</ul>",
        ),
        (
            "|a|b|\n|-|-:|\n|1|2|",
            "<div role=\"group\" tabindex=\"0\" aria-label=\"Table\">\n<table>\n<thead>\n<tr>\n<th scope=\"col\">a</th>\n<th align=\"right\" scope=\"col\">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td align=\"right\">2</td>\n</tr>\n</tbody>\n</table>\n</div>",
        ),
        (
            "see www.example.com",
            "<p>see <a href=\"http://www.example.com\" rel=\"nofollow noopener noreferrer\">www.example.com</a></p>",
        ),
        ("> q", "<blockquote>\n<p>q</p>\n</blockquote>"),
        ("", ""),
    ] {
        assert_eq!(render(text).trim(), expected, "{text}");
        check(&render(text));
    }
}

#[test]
fn headings_start_at_level_3_and_skip_no_level() {
    for (text, expected) in [
        ("# a", "h3"),
        ("## a", "h3"),
        ("# a\n## b\n### c\n#### d\n##### e", "h3 h4 h5 h6 h6"),
        ("### a\n# b\n#### c\n## d\n### e", "h3 h3 h4 h4 h5"),
        ("#\n\n# a", "h3"),
    ] {
        let html = render(text);
        let tags: Vec<_> = html.split("<h").skip(1).map(|tag| format!("h{}", &tag[..1])).collect();
        assert_eq!(tags.join(" "), expected, "{text}: {html}");
        check(&html);
    }
}

#[test]
fn raw_html_is_shown_as_text() {
    for text in [
        "<script>alert(1)</script>",
        "a <b onclick=\"x()\">b</b> <!-- c --> d",
        "<div style=\"position:fixed\">\n\n<iframe src=//x></iframe>",
        "<svg><style><img src=x onerror=alert(1)></style></svg>",
        "<details>\n<summary>s</summary>\n\ntext\n</details>",
    ] {
        let html = render(text);
        check(&html);
        let shown = html.replace("&lt;", "<").replace("&gt;", ">");
        for word in text.split(['\n', '<', '>']) {
            assert!(shown.contains(word), "{word:?} of {text:?} in {html}");
        }
    }
}

#[test]
fn links_with_other_schemes_become_text() {
    for (text, expected) in [
        (
            "[a](https://x.example/?q=1&r)",
            "<a href=\"https://x.example/?q=1&amp;r\" rel=\"nofollow noopener noreferrer\">a</a>",
        ),
        ("[a](javascript:alert(1))", "a (<code>javascript:alert(1)</code>)"),
        ("[a](JaVaScript:x)", "a (<code>JaVaScript:x</code>)"),
        ("[a](data:text/html,x)", "a (<code>data:text/html,x</code>)"),
        ("[a](src/main.rs)", "a (<code>src/main.rs</code>)"),
        (
            "[](http://x.y)",
            "<a href=\"http://x.y\" rel=\"nofollow noopener noreferrer\">http://x.y</a>",
        ),
        (
            "![a *b*](https://x.y/z.png)",
            "<a href=\"https://x.y/z.png\" rel=\"nofollow noopener noreferrer\">a b</a>",
        ),
        (
            "![](https://x.y/z.png)",
            "<a href=\"https://x.y/z.png\" rel=\"nofollow noopener noreferrer\">https://x.y/z.png</a>",
        ),
        ("![a](z.png)", "a (<code>z.png</code>)"),
        (
            "[![a](http://x/1)](http://x/2)",
            "<a href=\"http://x/2\" rel=\"nofollow noopener noreferrer\">a (<code>http://x/1</code>)</a>",
        ),
        (
            "![[b](http://x/1)](http://x/2)",
            "<a href=\"http://x/2\" rel=\"nofollow noopener noreferrer\">b</a>",
        ),
    ] {
        let html = render(text);
        assert_eq!(html.trim(), format!("<p>{expected}</p>"), "{text}");
        check(&html);
    }
}

#[test]
fn control_characters_are_replaced() {
    assert_eq!(render("a\0b\u{1b}[31mc").trim(), "<p>a\u{fffd}b\u{fffd}[31mc</p>");
    assert_eq!(render("a&#27;b").trim(), "<p>a\u{fffd}b</p>");
    assert!(render(&"\0".repeat(MAX_CHARS + 1)).contains("\u{fffd}\u{fffd}"));
}

#[test]
fn adversarial_inputs_need_bounded_time_size_and_stack() {
    let body = || {
        for input in adversarial_inputs() {
            for text in [input.clone(), input.chars().cycle().take(100_000).collect()] {
                let started = Instant::now();
                let html = render(&text);
                let took = started.elapsed();
                let start: String = text.chars().take(40).collect();
                // Plain text grows, too: `"` is escaped with six characters.
                let cells_bytes = MAX_SMALL_CELLS * MAX_CELL_BYTES;
                let max_bytes = MIN_LIMIT_BYTES + cells_bytes + text.len() * MAX_GROWTH.max(6);
                assert!(html.len() <= max_bytes, "{start:?}: {} bytes", html.len());
                // Generous, for debug builds on busy machines.
                assert!(took < Duration::from_secs(60), "{start:?}: {took:?}");
                check(&html);
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(512 * 1024).spawn(body).unwrap();
    thread.join().unwrap();
}

#[test]
fn ordinary_long_texts_stay_within_the_limits() {
    let part = "## A heading\n\nSome text with **bold** words, `code`, and [a link](https://x.example/).\n\n\
                * one\n* two\n  * three\n\n| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |\n\n\
                ```\nfn main() {}\n```\n\n--------------------------------------------------\n\n> quoted\n\n";
    let text = part.repeat(MAX_CHARS / part.len());
    let html = render(&text);
    assert!(html.contains("<table>") && !html.contains("class=\"note\""), "{}", &html[..500]);
    check(&html);
    assert!(render(&part.repeat(1 + MAX_CHARS / part.len())).contains("it is long"));
}

#[test]
fn a_right_aligned_table_of_short_cells_is_rendered() {
    let row = |cell: &str| format!("|{}\n", format!("{cell}|").repeat(8));
    let text = format!("{}{}{}", row("a"), row("-:"), row("1").repeat(60));
    let html = render(&text);
    assert_eq!(html.matches("<td align=\"right\">1</td>").count(), 8 * 60);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_text_never_bypasses_the_allow_lists(
        text in "([-*_>#+=~`|:\\[\\]()!<>/\"'&;\\\\ \t\n.0-9a-c]|\n\n|<a href='|<img src=x onerror=y>|javascript:|http://x|\\]\\(|\n- |\n> |\\|\n\\|-|&#x|\u{202e}|é|😀|<!--|\n```|- \\[ \\] ){0,200}"
    ) {
        check(&render(&text));
    }
}

#[test]
fn a_line_has_the_words_without_the_signs() {
    for (text, expected) in [
        ("**Bold** and `code`, [a link](https://x.example)", "Bold and code, a link"),
        ("# Heading\n\n1. one\n2. *two*\n\nand\nmore", "Heading · one · two and more"),
        ("> quoted\n\n```sh\nls -l\n```", "quoted ls -l"),
        ("- [x] done\n- [ ] open", "[x] done · [ ] open"),
        ("~~MySQL~~ Postgres", "~~MySQL~~ Postgres"),
        ("x &#27;[31m &#1;", "x \u{fffd}[31m \u{fffd}"),
        ("a_b * c <b>", "a_b * c <b>"),
        ("***", "***"),
        ("x\u{7}", "x\u{fffd}"),
        (&*"**ab** ".repeat(20), "ab ab ab ab ab ab ab ab ab ab …"),
        (
            &*format!("a [b](https://x.example/{})", "x".repeat(200)),
            "a [b](https://x.example/xxxxxx…",
        ),
    ] {
        assert_eq!(super::one_line(text, 30), expected, "{text}");
    }
    for text in adversarial_inputs() {
        let started = Instant::now();
        let line = super::one_line(&text, 160);
        assert!(
            line.chars().count() <= 161 && started.elapsed() < Duration::from_secs(1),
            "{line}"
        );
    }
}
