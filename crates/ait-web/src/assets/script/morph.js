// Makes a page equal to a newer version of it, without losing the focus, the selection or typed text.

/** Returns true if a node contains the focus or the selection, and so must not be moved. */
const isPinned = (node) => {
  const selection = getSelection();
  const holds = (other) => other && node.contains(other);
  return holds(document.activeElement) ||
    (!selection.isCollapsed && (holds(selection.anchorNode) || holds(selection.focusNode)));
};

const follows = (one, other) =>
  Boolean(other.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);

const isSame = (one, other) =>
  one.nodeType === other.nodeType && one.nodeName === other.nodeName &&
  (one.id ?? "") === (other.id ?? "");

/** Attributes that belong to the reader. Text typed into a field is a property, not an attribute. */
const OWN = new Map([["DETAILS", ["open"]], ["BUTTON", ["hidden"]]]);

/** Returns true if the reader has typed something into a field, or has chosen something. */
const isEdited = (field) => {
  if (field.nodeName === "SELECT") {
    const chosen = [...field.options].findIndex((option) => option.defaultSelected);
    return field.selectedIndex !== Math.max(chosen, 0);
  }
  return "defaultValue" in field && (field.value !== field.defaultValue || field.checked !== field.defaultChecked);
};

/** The forms that change something. */
const ACTION = "form.action";
/** Returns true if the reader has begun to fill in a form. */
const isBegun = (form) => form.contains(document.activeElement) || [...form.elements].some(isEdited);

/** Returns true if a node has to stay, because it is or has a form that the reader has begun to fill in. */
const stays = (node) => {
  if (node.nodeType !== Node.ELEMENT_NODE) return false;
  return node.matches(ACTION) ? isBegun(node) : [...node.querySelectorAll(ACTION)].some(isBegun);
};

const takeAttributes = (old, young) => {
  const own = OWN.get(old.nodeName) ?? [];
  const isMarked = old.classList.contains("changed");
  for (const { name, value } of young.attributes) {
    if (!own.includes(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!own.includes(name) && !young.hasAttribute(name)) old.removeAttribute(name);
  }
  if (isMarked) old.classList.add("changed");
};

/** Makes a node equal to a new one and keeps the parts that have not changed. */
const morph = (old, young) => {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== young.nodeValue) old.nodeValue = young.nodeValue;
    return;
  }
  if (old.isEqualNode(young)) return;
  const isAction = old.matches(ACTION);
  const isKept = isAction && isBegun(old);
  // The reader's input applies to the version that the form showed. The server refuses it for another version.
  if (isKept && !("follows" in old.dataset)) return;
  takeAttributes(old, young);
  if (old.nodeName === "SELECT" && old === document.activeElement) return;
  morphChildren(old, young);
  // After an edit, a field does not follow its default value, even if the edit was undone.
  if (isAction && !isKept) old.reset();
};

/** Removes a node, unless it has to stay. Returns the one after it. */
const dropped = (node) => {
  const next = node.nextSibling;
  if (!stays(node)) node.remove();
  return next;
};

const morphChildren = (old, young) => {
  const named = (parent) => [...parent.children].filter((child) => child.id).map((child) => [child.id, child]);
  const known = new Map(named(old));
  const ids = new Set(named(young).map(([id]) => id));
  let place = old.firstChild;
  for (const wanted of [...young.childNodes]) {
    while (place?.id && !ids.has(place.id)) place = dropped(place);
    let match = wanted.id ? known.get(wanted.id) : undefined;
    if (match && !isSame(match, wanted)) match = undefined;
    if (!match && !wanted.id) {
      // Nodes without an id match the next node of the same kind.
      for (let next = place; next && !match; next = next.nextSibling) {
        if (isSame(next, wanted)) match = next;
        else if (next.id && ids.has(next.id)) break;
      }
    }
    // If a page has an id twice by mistake, only the first element matches.
    known.delete(wanted.id);
    if (!match) {
      old.insertBefore(document.importNode(wanted, true), place);
      continue;
    }
    if (match !== place && !isPinned(match)) {
      old.insertBefore(match, place);
    } else if (match !== place && place && follows(match, place)) {
      // The pinned match stays, so the nodes in between move behind it, unless they are pinned, too.
      let after = match;
      for (let next = place; next !== match;) {
        const one = next;
        next = next.nextSibling;
        if (isPinned(one)) continue;
        after.after(one);
        after = one;
      }
    } else if (match !== place) {
      // The pinned match is before the current position and stays there.
      morph(match, wanted);
      continue;
    }
    morph(match, wanted);
    place = match.nextSibling;
  }
  while (place) place = dropped(place);
};
