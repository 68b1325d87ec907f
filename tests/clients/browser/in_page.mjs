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
    if (width === 0 || !hasText || getComputedStyle(element).overflowX !== 'visible') return right;
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
