// Functions that run in a page: each must stand for itself, since its text alone is taken there.

/** What reaches beyond the right edge of the window, the page itself first. */
export function beyondTheEdge() {
  const { scrollWidth, clientWidth } = document.documentElement;
  const found = scrollWidth > clientWidth ? [`the page: ${scrollWidth} px`] : [];
  // What scrolls or is cut within a box of its own does not count, unless the box is the whole page.
  const isKept = (element) => {
    for (let box = element.parentElement; box && box !== document.body; box = box.parentElement) {
      const { overflowX, clipPath } = getComputedStyle(box);
      if (overflowX !== 'visible' || clipPath !== 'none') return true;
    }
    return getComputedStyle(element).clipPath !== 'none';
  };
  // Text that finds no place to break reaches out of its element.
  const text = document.createRange();
  const edge = (element) => {
    const { right, width } = element.getBoundingClientRect();
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE);
    const { overflowX, whiteSpaceCollapse } = getComputedStyle(element);
    // Spaces that are kept hang beyond the end of a line, and nobody sees them.
    const isSpilling = overflowX === 'visible' && whiteSpaceCollapse === 'collapse';
    if (width === 0 || !hasText || !isSpilling) return right;
    text.selectNodeContents(element);
    return Math.max(right, text.getBoundingClientRect().right);
  };
  for (const element of document.body.querySelectorAll('*')) {
    const right = edge(element);
    // Half a pixel comes from rounding.
    if (right <= clientWidth + 0.5 || isKept(element)) continue;
    const name = element.tagName.toLowerCase();
    const classes = [...element.classList].map((word) => `.${word}`).join('');
    const beginning = element.textContent.trim().slice(0, 40);
    found.push(`${name}${classes} to ${Math.round(right)} px: ${beginning}`);
    if (found.length === 10) break;
  }
  return found;
}

/** The texts that a box cuts off at its right edge without a way to scroll there. */
export function clippedTexts() {
  const found = [];
  for (const element of document.querySelectorAll('main *, header *')) {
    // The text of a field scrolls with the cursor.
    if (element.matches('input')) continue;
    const { overflowX } = getComputedStyle(element);
    const isCut = overflowX === 'clip' && element.clientWidth > 1 && element.scrollWidth > element.clientWidth + 1;
    if (isCut) found.push(`${element.tagName.toLowerCase()}.${element.className}: ${element.textContent.trim().slice(0, 40)}`);
  }
  return found.slice(0, 10);
}

/** The rows of the list whose attributes are not on a line of their own below the title. */
export function chipsBesideTitles() {
  const rows = [...document.querySelectorAll('.issues tbody tr')];
  const isBeside = (row) => row.querySelector('.details').getBoundingClientRect().top < row.querySelector('.title').getBoundingClientRect().bottom - 1;
  return rows.filter(isBeside).map((row) => row.textContent.slice(0, 40));
}

/** What has the focus, if anything of the page has, and whether people can see that. */
export function focused() {
  const element = document.activeElement;
  if (!element || element === document.body || element === document.documentElement) return null;
  // Elements are told apart by the order in which they were first asked for.
  window.focusNumbers ??= new Map();
  if (!window.focusNumbers.has(element)) window.focusNumbers.set(element, window.focusNumbers.size);
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  // Of a link over several lines the whole box may be mostly beside it.
  const box = element.getClientRects()[0] ?? element.getBoundingClientRect();
  const x = (Math.max(box.left, 0) + Math.min(box.right, innerWidth)) / 2;
  const y = (Math.max(box.top, 0) + Math.min(box.bottom, innerHeight)) / 2;
  const top = document.elementFromPoint(x, y);
  return {
    number: window.focusNumbers.get(element),
    what: element.outerHTML.slice(0, 120),
    href: element.getAttribute('href') ?? '',
    isOutlined: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1,
    isInView: top !== null && (element.contains(top) || top.contains(element) && top.closest('main, header') !== top),
    isInMain: element.closest('main') !== null,
  };
}

/** What can be clicked but has not had the focus, given the numbers of what has. */
export function focusStops(reached) {
  const selector = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';
  const numbers = window.focusNumbers ?? new Map();
  return [...document.querySelectorAll(selector)]
    .filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled)
    .filter((element) => element.type !== 'hidden' && !reached.includes(numbers.get(element)))
    .map((element) => element.outerHTML.slice(0, 120));
}

/** Signs that a text of an issue has become a part of the page, and not its text. */
export function intrusions() {
  const found = [];
  if (window.pwned !== undefined) found.push('a script has run');
  const signs = {
    'script:not([src])': 'an inline script',
    style: 'an inline style sheet',
    'body meta, body base, body link': 'what belongs into the head',
    'iframe, object, embed, form:not(#filters)': 'a foreign part',
    'img:not([src^="/assets/"])': 'a foreign picture',
    '[style]': 'an inline style',
  };
  for (const [selector, name] of Object.entries(signs)) {
    // Without scripts, the page reloads by itself; that is within the head.
    const element = document.querySelector(selector);
    if (element) found.push(`${name}: ${element.outerHTML.slice(0, 120)}`);
  }
  for (const element of document.querySelectorAll('*')) {
    for (const { name, value } of element.attributes) {
      const runs = ['href', 'src', 'action'].includes(name) && /^\s*(javascript|data|vbscript):/i.test(value);
      if (runs || name.startsWith('on')) found.push(`${name}=${value.slice(0, 80)}`);
    }
  }
  return found.slice(0, 10);
}

/**
 * Texts that turn the direction of reading round, and with it what stands beside them in a line; `given`
 * are the texts that the page was given to show.
 */
export function turnedRound(given) {
  const plain = (text) => text.replace(/…$/, '').replaceAll(/\s+/g, ' ').trim();
  const wholes = given.map(plain);
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode;
    if (!/[\u202a-\u202e\u2066-\u2068]/.test(data)) continue;
    if (!parentElement.checkVisibility()) continue;
    let box = parentElement;
    let style = getComputedStyle(box);
    // Where lines are kept, a direction ends with its line, on which there is nothing else.
    if (style.whiteSpaceCollapse !== 'collapse') continue;
    while (style.display === 'inline' && style.unicodeBidi === 'normal') {
      box = box.parentElement;
      style = getComputedStyle(box);
    }
    // Alone in its box it has nothing beside it.
    const isAlone = plain(box.textContent) === plain(data);
    if (!isAlone || !wholes.some((text) => text.includes(plain(data)))) found.push(box.outerHTML.slice(0, 160));
  }
  return found.slice(0, 10);
}
