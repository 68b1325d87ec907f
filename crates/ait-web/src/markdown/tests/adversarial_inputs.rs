//! Texts that provoke deep nesting, large output or long parsing.

use super::super::MAX_CHARS;

/// The pieces that are repeated.
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

/// Returns texts that provoke deep nesting, large output or long parsing.
pub(super) fn adversarial_inputs() -> Vec<String> {
    let repeated = |piece: &str| {
        let length = piece.chars().count();
        piece.chars().cycle().take(MAX_CHARS / length * length).collect::<String>()
    };
    let mut inputs: Vec<String> = PIECES.iter().map(|piece| repeated(piece)).collect();
    let half = MAX_CHARS / 2;
    let columns = |count: usize| format!("{}|\n{}|\n", "|a".repeat(count), "|-".repeat(count));
    for count in [2, 10, 100, 1_000, 4_000] {
        let head = columns(count);
        let rest = MAX_CHARS.saturating_sub(head.len()) / 2;
        inputs.push(format!("{head}{}", "a\n".repeat(rest)));
        inputs.push(format!("{head}{}", "|\n".repeat(rest)));
        inputs.push(format!("> {}{}", head.replace("\n|", "\n> |"), ">a\n".repeat(rest / 2)));
    }
    inputs.push(format!("[a]: http://{}\n\n{}", "b".repeat(half), "[a]".repeat(half / 3)));
    inputs.push(format!("[a]: http://b '{}'\n\n{}", "&".repeat(half), "[a]".repeat(half / 3)));
    inputs.push((0..100).map(|depth| format!("{}- a\n", "  ".repeat(depth))).collect());
    inputs.push((0..90).map(|depth| format!("{}- a\n\n", "\t".repeat(depth))).collect());
    inputs.push((0..90).map(|depth| format!("{}1. a\n", " ".repeat(3 * depth))).collect());
    inputs.push(format!("{}a\n{}", "+ ".repeat(60), "\n".repeat(half)));
    inputs.push(format!("{}a\n{}", "> ".repeat(60), "> b\n".repeat(half / 4)));
    inputs.push(format!("{}{}", "*".repeat(half), "a*".repeat(half / 2)));
    inputs.push(format!("{}a{}", "[".repeat(half), "]".repeat(half)));
    inputs.push(format!("{}a{}", "![".repeat(half / 2), "](b)".repeat(half / 4)));
    inputs.push(format!("{}a{}", "**".repeat(half / 2), "**".repeat(half / 2)));
    inputs.push(format!("{}a{}", "~~*".repeat(half / 3), "*~~".repeat(half / 3)));
    inputs.push((1..200).map(|length| format!("a{}", "`".repeat(length))).collect());
    inputs.push((0..2_000).map(|n| format!("[{n}]: x\n")).collect());
    inputs.push((0..1_000).map(|n| format!("[{n}]: x\n\n[{n}]\n")).collect());
    inputs.push(format!("{}{}", "<a href=\"".repeat(half / 9), "\"".repeat(half)));
    inputs
}
