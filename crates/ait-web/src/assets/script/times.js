// Shows times in the time zone of the reader. The server knows UTC alone, and its pages say so where no script runs.

const { lang } = document.documentElement;
const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const DAY = { day: "numeric", month: "short" };
/** The forms of a time, by the words in `data-as`. */
const FORMS = new Map(Object.entries({
  time: { ...DAY, year: "numeric", ...CLOCK },
  clock: { ...CLOCK, second: "2-digit" },
  minute: CLOCK,
  day: DAY,
  month: { month: "short", year: "numeric" },
  year: { year: "numeric" },
  // The days of the pages in English come before their months.
}).map(([form, options]) => [form, new Intl.DateTimeFormat(lang === "en" ? "en-GB" : lang, options)]));
const spell = (at, form) => FORMS.get(form).format(new Date(at));

/** Returns the round time of the reader that is nearest to a round time in UTC. */
const nearestRound = (utc, stepMs) => {
  let shift = utc.getTimezoneOffset() * 60_000 % stepMs;
  if (2 * Math.abs(shift) > stepMs) shift -= Math.sign(shift) * stepMs;
  return new Date(utc.getTime() + shift);
};

/** Moves the ticks of an axis to round times of the reader. */
const moveTicks = (axis) => {
  const [begin, length, step] = [axis.dataset.begin, axis.dataset.length, axis.dataset.step].map(Number);
  for (const tick of axis.children) {
    const utc = new Date(Number(tick.dataset.at));
    const at = step ? nearestRound(utc, step) : new Date(utc.getUTCFullYear(), utc.getUTCMonth());
    const place = (at - begin) / length;
    const [line, label] = tick.children;
    for (const [one, name] of [[line, "x1"], [line, "x2"], [label, "x"]]) one.setAttribute(name, `${100 * place}%`);
    label.setAttribute("text-anchor", place > 0.96 ? "end" : "middle");
    const isMidnight = at.getHours() + at.getMinutes() === 0;
    label.textContent = spell(at, step ? (isMidnight ? "day" : "minute") : axis.dataset.as);
    if (place >= 0 && place <= axis.dataset.last) tick.removeAttribute("display");
    else tick.setAttribute("display", "none");
  }
};

/** Shows the times in a part of a page as those of the reader. */
const showLocal = (part) => {
  for (const time of part.querySelectorAll("time[data-as]")) time.textContent = spell(time.dateTime, time.dataset.as);
  for (const hint of part.querySelectorAll("title[data-at]")) {
    hint.textContent = hint.textContent.replace(/^.*/, spell(Number(hint.dataset.at), "time"));
  }
  for (const axis of part.querySelectorAll(".axis[data-step]")) moveTicks(axis);
};

showLocal(main);
document.documentElement.dataset.local = "";

main.addEventListener("pointerover", ({ target }) => {
  const time = target.closest?.("time[datetime]");
  if (time) time.title = new Date(time.dateTime).toLocaleString(lang, { dateStyle: "full", timeStyle: "long" });
});
