// Sets the appearance that the reader has chosen, before the page is painted.
"use strict";
try {
  for (const [name, values] of [["theme", ["light", "dark"]], ["density", ["compact"]]]) {
    const value = localStorage.getItem(`ait-${name}`);
    if (values.includes(value)) document.documentElement.dataset[name] = value;
  }
} catch {
  // Without storage the page looks as the system does.
}
