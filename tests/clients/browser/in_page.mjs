// Functions that run in a page. The browser receives only a function's source, so none may use outer names.

/** Returns the elements that reach beyond the right edge of the window, with the page itself first. */
export function beyondTheEdge() {
  const { scrollWidth, clientWidth } = document.documentElement;
  const found = scrollWidth > clientWidth ? [`the page: ${scrollWidth} px`] : [];
  // Content that scrolls or is clipped within its own box does not count, unless the box is the whole page.
  const isKept = (element) => {
    for (let box = element.parentElement; box && box !== document.body; box = box.parentElement) {
      const { overflowX, clipPath } = getComputedStyle(box);
      if (overflowX !== 'visible' || clipPath !== 'none') return true;
    }
    return getComputedStyle(element).clipPath !== 'none';
  };
  // Text without a place to break reaches out of its element.
  const text = document.createRange();
  const edge = (element) => {
    const { right, width } = element.getBoundingClientRect();
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE);
    const { overflowX, whiteSpaceCollapse } = getComputedStyle(element);
    // Preserved spaces may hang beyond the end of a line, where they are invisible.
    const isSpilling = overflowX === 'visible' && whiteSpaceCollapse === 'collapse';
    if (width === 0 || !hasText || !isSpilling) return right;
    text.selectNodeContents(element);
    return Math.max(right, text.getBoundingClientRect().right);
  };
  for (const element of document.body.querySelectorAll('*')) {
    const right = edge(element);
    // Rounding may add half a pixel.
    if (right <= clientWidth + 0.5 || isKept(element)) continue;
    const name = element.tagName.toLowerCase();
    const classes = [...element.classList].map((word) => `.${word}`).join('');
    const beginning = element.textContent.trim().slice(0, 40);
    found.push(`${name}${classes} to ${Math.round(right)} px: ${beginning}`);
    if (found.length === 10) break;
  }
  return found;
}

/** Returns how many pixels of the page are below its footer. */
export function belowTheFooter() {
  const page = document.documentElement;
  const footer = document.querySelector('footer')?.getBoundingClientRect();
  const end = footer?.height ? footer.bottom + scrollY : document.body.getBoundingClientRect().bottom + scrollY;
  return Math.round(page.scrollHeight - Math.max(end, page.clientHeight));
}

/** Returns the absolutely placed elements that a box around them neither clips nor scrolls, because they are placed from outside it. */
export function outsideTheirBoxes() {
  const found = [];
  for (const element of document.body.querySelectorAll('*')) {
    if (getComputedStyle(element).position !== 'absolute' || !element.checkVisibility()) continue;
    for (let box = element.parentElement; box && box !== document.body; box = box.parentElement) {
      const { position, overflowY } = getComputedStyle(box);
      if (position !== 'static') break;
      if (overflowY === 'visible') continue;
      const name = (each) => `${each.tagName.toLowerCase()}.${[...each.classList].join('.')}`;
      found.push(`${name(element)} in ${name(box)}: ${element.textContent.trim().slice(0, 40)}`);
      break;
    }
  }
  return found.slice(0, 10);
}

/** Returns the texts that a box clips at its right edge and that cannot be scrolled into view. */
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

/** Returns the rows of the list whose attributes are elsewhere than in the others: on a wide screen beside the title, else below it. */
export function unevenRows() {
  const rows = [...document.querySelectorAll('.issues tbody tr')];
  const isBeside = (row) => row.querySelector('.details').getBoundingClientRect().top < row.querySelector('.title').getBoundingClientRect().bottom - 1;
  const isWide = matchMedia('(min-width: 75.01rem)').matches;
  return rows.filter((row) => isBeside(row) !== isWide).map((row) => row.textContent.slice(0, 40));
}

/** Returns the focused element of the page, if there is one, and whether its focus is visible. */
export function focused() {
  const element = document.activeElement;
  if (!element || element === document.body || element === document.documentElement) return null;
  // Each element gets a number when it first has the focus.
  window.focusNumbers ??= new Map();
  if (!window.focusNumbers.has(element)) window.focusNumbers.set(element, window.focusNumbers.size);
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  // For a link over several lines, the bounding box may lie mostly outside the link.
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

/** Returns the clickable elements whose numbers are not in `reached`. */
export function focusStops(reached) {
  const selector = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';
  const numbers = window.focusNumbers ?? new Map();
  return [...document.querySelectorAll(selector)]
    .filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled)
    .filter((element) => element.type !== 'hidden' && !reached.includes(numbers.get(element)))
    .map((element) => element.outerHTML.slice(0, 120));
}

/** Returns signs that the page treats an issue's text as markup or script. */
export function intrusions() {
  const found = [];
  if (window.pwned !== undefined) found.push('a script has run');
  const signs = {
    'script:not([src])': 'an inline script',
    style: 'an inline style sheet',
    'body meta, body base, body link': 'a head element in the body',
    'iframe, object, embed, form:not(#filters)': 'a foreign part',
    'img:not([src^="/assets/"])': 'a foreign picture',
    '[style]': 'an inline style',
  };
  for (const [selector, name] of Object.entries(signs)) {
    // Without scripts, a `meta` element in the head reloads the page; it is allowed.
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
 * Returns texts that change the reading direction, also of the content beside them in the line. `given` are
 * the texts that the page shows.
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
    // With preserved lines, the direction ends with its line, which contains nothing else.
    if (style.whiteSpaceCollapse !== 'collapse') continue;
    while (style.display === 'inline' && style.unicodeBidi === 'normal') {
      box = box.parentElement;
      style = getComputedStyle(box);
    }
    // A text that is alone in its box cannot affect its neighbours.
    const isAlone = plain(box.textContent) === plain(data);
    if (!isAlone || !wholes.some((text) => text.includes(plain(data)))) found.push(box.outerHTML.slice(0, 160));
  }
  return found.slice(0, 10);
}
