/** Follows what may change while it is read: asks again, and leaves focus and scroll positions where they were. */

/** Events come many times a second; what follows them asks at most so often. */
const PAUSE_MS = 2000;

/**
 * Return what calls `run` soon: at once, but never twice within two seconds, and not while the last call is under way.
 * @param {AbortSignal} alive
 * @param {() => Promise<void>} run
 */
export function atMostEveryTwoSeconds(alive, run) {
  let timer = 0;
  let isRunning = false;
  let isWanted = false;
  let last = Date.now();
  const start = async () => {
    timer = 0;
    isWanted = false;
    isRunning = true;
    await run();
    isRunning = false;
    last = Date.now();
    if (isWanted) soon();
  };
  const soon = () => {
    isWanted = true;
    if (isRunning || timer || alive.aborted) return;
    timer = setTimeout(start, Math.max(0, last + PAUSE_MS - Date.now()));
  };
  alive.addEventListener("abort", () => clearTimeout(timer));
  return soon;
}

/** Put other children into an element; what had the focus has it again, if it is still there. */
export function renew(place, children) {
  const active = document.activeElement;
  const name = place.contains(active) ? nameOf(active) : null;
  const tops = [...place.querySelectorAll(".scroller")].map((one) => one.scrollTop);
  place.replaceChildren(...[children].flat(Infinity).filter(Boolean));
  // Long tables are filled in a microtask after they are made.
  setTimeout(() => {
    [...place.querySelectorAll(".scroller")].forEach((one, at) => {
      if (tops[at]) one.scrollTop = tops[at];
    });
    if (!name || place.contains(document.activeElement)) return;
    const same = [...place.querySelectorAll(active.tagName)].find((one) => nameOf(one) === name);
    same?.focus({ preventScroll: true });
  });
}

const nameOf = (one) =>
  [one.tagName, one.getAttribute("href"), one.getAttribute("aria-label"), one.textContent.slice(0, 80)].join("|");
