//! Texts that are meant to grow, to nest or to take long.

use super::MAX_CHARS;

/// What is said again and again.
const PIECES: &[&str] = &[
    ">",
    "> ",
    "[",
    "]",
    "*a ",
    "**a *b ",
    "*a **b ",
    "_a __b ",
    "![[",
    "- ",
    "+ ",
    "1. ",
    "1) ",
    "`",
    "``a",
    "<",
    "</",
    "<!--",
    "<?",
    "<a ",
    "<![CDATA[",
    "|",
    "|-",
    "| ",
    "|\n",
    "[a](",
    "[a](<",
    "[](",
    "![](",
    "[a]: ",
    "[a]:b\n",
    "[a]",
    "&#x1F600;",
    "&",
    "&amp;",
    "&nbsp;",
    "~~",
    "~~a",
    "~",
    "www.",
    "www.a ",
    "http://",
    "http://a ",
    "a@",
    "a@b.c ",
    "a",
    " ",
    "\t",
    "\n",
    "\r",
    "\\",
    "\"",
    "'",
    "\u{202e}",
    "😀",
    "👨‍👩‍👧‍👦",
    "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢",
    "\0",
    "# ",
    "#\n",
    "* * *\n",
    "---\n",
    "a\n---\n",
    "\n\n    x",
    "```\n",
    "~~~\n",
    "- [ ] ",
    "- [x] a\n",
    "*_",
    "**",
    "_",
    "a_",
    "a**b",
    "***a** ",
    "x<b>",
    "\u{a0}",
    ":",
    "http:",
    "a.b@c.d/",
];

/// Texts that are meant to grow, to nest or to take long.
pub(super) fn bombs() -> Vec<String> {
    let whole = |piece: &str| {
        let length = piece.chars().count();
        piece.chars().cycle().take(MAX_CHARS / length * length).collect::<String>()
    };
    let mut bombs: Vec<String> = PIECES.iter().map(|piece| whole(piece)).collect();
    let half = MAX_CHARS / 2;
    let columns = |count: usize| format!("{}|\n{}|\n", "|a".repeat(count), "|-".repeat(count));
    for count in [2, 10, 100, 1_000, 4_000] {
        let head = columns(count);
        let rest = MAX_CHARS.saturating_sub(head.len()) / 2;
        bombs.push(format!("{head}{}", "a\n".repeat(rest)));
        bombs.push(format!("{head}{}", "|\n".repeat(rest)));
        bombs.push(format!("> {}{}", head.replace("\n|", "\n> |"), ">a\n".repeat(rest / 2)));
    }
    bombs.push(format!("[a]: http://{}\n\n{}", "b".repeat(half), "[a]".repeat(half / 3)));
    bombs.push(format!("[a]: http://b '{}'\n\n{}", "&".repeat(half), "[a]".repeat(half / 3)));
    bombs.push((0..100).map(|depth| format!("{}- a\n", "  ".repeat(depth))).collect());
    bombs.push((0..90).map(|depth| format!("{}- a\n\n", "\t".repeat(depth))).collect());
    bombs.push((0..90).map(|depth| format!("{}1. a\n", " ".repeat(3 * depth))).collect());
    bombs.push(format!("{}a\n{}", "+ ".repeat(60), "\n".repeat(half)));
    bombs.push(format!("{}a\n{}", "> ".repeat(60), "> b\n".repeat(half / 4)));
    bombs.push(format!("{}{}", "*".repeat(half), "a*".repeat(half / 2)));
    bombs.push(format!("{}a{}", "[".repeat(half), "]".repeat(half)));
    bombs.push(format!("{}a{}", "![".repeat(half / 2), "](b)".repeat(half / 4)));
    bombs.push(format!("{}a{}", "**".repeat(half / 2), "**".repeat(half / 2)));
    bombs.push(format!("{}a{}", "~~*".repeat(half / 3), "*~~".repeat(half / 3)));
    bombs.push((1..200).map(|length| format!("a{}", "`".repeat(length))).collect());
    bombs.push((0..2_000).map(|n| format!("[{n}]: x\n")).collect());
    bombs.push((0..1_000).map(|n| format!("[{n}]: x\n\n[{n}]\n")).collect());
    bombs.push(format!("{}{}", "<a href=\"".repeat(half / 9), "\"".repeat(half)));
    bombs
}
