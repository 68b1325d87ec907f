// Texts and addresses that try to break a page.

const SCRIPT = 'window.pwned=1';
/** The maximum length of an issue's longest texts. */
const MAX_CHARS = 100_000;

/** Repeats a text up to the maximum length. */
function full(text) {
  return text.repeat(Math.ceil(MAX_CHARS / text.length)).slice(0, MAX_CHARS);
}

const table = (columns, rows) =>
  `${'|a'.repeat(columns)}|\n${'|-'.repeat(columns)}|\n${'|x|\n'.repeat(rows)}`.slice(0, MAX_CHARS);

/** Texts for every field of an issue. */
export const TEXTS = {
  script: `<script>${SCRIPT}</script>`,
  closing: `</title></textarea></pre></code></script></template><script>${SCRIPT}</script>`,
  picture: `"><img src=x onerror=${SCRIPT}>`,
  handler: `' onmouseover='${SCRIPT}' " onfocus="${SCRIPT}" autofocus x="`,
  vector: `<svg/onload=${SCRIPT}><animate onbegin=${SCRIPT} attributeName=x></svg>`,
  frame: `<iframe srcdoc="&lt;script&gt;parent.pwned=1&lt;/script&gt;"></iframe>`,
  head: `<base href="http://example.invalid/"><meta http-equiv=refresh content="0;url=http://example.invalid/">`,
  style: '<style>* { display: none }</style><p style="position: fixed; inset: 0">over all</p>',
  form: `<form action="http://example.invalid/"><input name=q autofocus><button>Log in</button></form>`,
  comment: '<!-- <![CDATA[ ]]> --!> <!DOCTYPE html> <?php ?>',
  entities: '&lt;script&gt;&#x3c;script&#x3e;&amp;lt; &notanentity; &#0; &#x110000;',
  template: '{{constructor.constructor("window.pwned=1")()}} ${window.pwned=1} <%= 1 %> #{1}',
  links: `[a](javascript:${SCRIPT}) [b](JaVaScRiPt&colon;${SCRIPT}) <javascript:${SCRIPT}> [c](data:text/html,<script>${SCRIPT}</script>) [d](vbscript:x)`,
  attribute: `[a](http://example.invalid/" onclick="${SCRIPT}) ![b"onerror="${SCRIPT}](x) <http://a'onclick='${SCRIPT}>`,
  tracker: '![seen](http://example.invalid/pixel.png) ![](//example.invalid/a) <img src="http://example.invalid/b">',
  definitions: `[a]: javascript:${SCRIPT}\n[a] ![a]\n\n[^1]: note\n[^1]`,
  markup: '# A heading\n\n* a list\n  * in a list\n\n```html\n<script>window.pwned=1</script>\n```\n\n- [x] done\n\n|a|b|\n|-|-|\n|1|2|',
  quotes: `O'Brien "the \`agent\`" & <co> \\ %00 %3Cscript%3E`,
  reversed: 'invoice \u202etxt.exe \u202e and on',
  isolated: 'begins \u2066 and \u2067 never \u202b ends \u2068',
  arabic: 'العربية مع English و 123 في سطر واحد (قوسان)',
  hebrew: 'עברית עם English ומספרים 42!',
  emoji: '👩‍👩‍👧‍👦🏳️‍🌈🧑🏽‍💻🇯🇵'.repeat(12),
  zalgo: [...'Zalgo comes over the page'].map((letter) => `${letter}\u0300\u0301\u0315\u035e\u0489\u0316`).join(''),
  // Line breaking treats this heap of marks as one character.
  heap: `Z${'\u0300\u0301\u0315\u035e\u0489'.repeat(60)}algo`,
  invisible: 'zero\u200b\u200c\u200d\ufeff\u00ad\u2060width\u0000\u0007\u001b[31m\u0085\u2028\u2029end',
  japanese: '長い日本語の題名は空白なしで続きますので折り返しが必要です。'.repeat(16),
  words: Array.from({ length: 500 }, (_, number) => `word${number}`).join(' '),
  long: full('x'),
  address: full('https://example.invalid/a/very/long/path?with=parameters&and='),
  clef: full('💥'),
  lines: full('a\n'),
  brackets: full('['),
  pictures: full('!['),
  halfLinks: full('[a]('),
  quoted: full('>'),
  stars: full('*a '),
  underlined: full('_a__'),
  struck: full('~~a '),
  ticks: full('`a``'),
  nested: Array.from({ length: 400 }, (_, depth) => `${'  '.repeat(depth)}- a`).join('\n').slice(0, MAX_CHARS),
  angles: full('<'),
  tags: full('<b>'),
  ampersands: full('&amp;&'),
  wideTable: table(1_000, 20_000),
  longTable: table(30, 25_000),
  code: `\`\`\`\n${full('code ')}`,
};

const encoded = encodeURIComponent;

/** Addresses that contain a text that the page may show, with their status. */
export const ADDRESSES = {
  [`/?q=${encoded(TEXTS.script)}`]: 200,
  // An unclosed quote.
  [`/?q=${encoded(TEXTS.picture)}`]: 400,
  [`/?q=${encoded(TEXTS.reversed)}`]: 200,
  [`/?agent=${encoded(TEXTS.handler)}`]: 200,
  [`/?agent=${encoded('x'.repeat(2_000))}`]: 200,
  [`/?status=${encoded(TEXTS.picture)}`]: 400,
  [`/?status=${encoded(TEXTS.reversed)}`]: 400,
  [`/?status=${'x'.repeat(2_000)}`]: 400,
  // Unknown parameters are ignored.
  [`/?${encoded(TEXTS.script)}=1`]: 200,
  [`/stats?range=${encoded(TEXTS.handler)}`]: 400,
  [`/issues/${encoded(TEXTS.script)}`]: 404,
  [`/issues/${encoded(TEXTS.reversed)}`]: 404,
  [`/issues/${'x'.repeat(2_000)}`]: 404,
  [`/${encoded(TEXTS.picture)}`]: 404,
};
