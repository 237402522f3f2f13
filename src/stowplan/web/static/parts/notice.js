/** Says what went wrong and what to do, or that there is nothing to show. */

import { element } from "../dom.js";
import { askAgain } from "../live/token.js";

/** Tell an error; `retry` tries again. */
export function notice(error, retry = null) {
  const isLocked = error.code === 401 || (error.code === 403 && !error.isOfQuestion);
  const again = () => {
    askAgain();
    retry();
  };
  return element(
    "div",
    { class: "notice", role: "alert" },
    element("p", {}, element("b", {}, error.message || String(error))),
    error.remedy ? element("p", {}, error.remedy) : null,
    retry ? element("button", { type: "button", on: { click: again } }, isLocked ? "Give a token" : "Try again") : null,
  );
}

/** Say that there is nothing, and what that means. */
export const empty = (text) => element("p", { class: "empty" }, text);

/** Say that something is on its way. */
export const loading = (text) => element("p", { class: "loading" }, text);

/**
 * Show what a promise brings in the place of a line that says that it is on its way; nothing once a view is closed.
 * @param {AbortSignal} alive
 * @param {string} text
 * @param {() => Promise<any>} ask
 * @param {(answer: any) => any} show
 * @param {string} [title] a heading until what is shown brings its own
 */
export function awaited(alive, text, ask, show, title = "") {
  const head = () => (title ? element("h1", {}, title) : null);
  const place = element("div", { class: "awaited", "aria-busy": "true" }, head(), loading(text));
  const run = async () => {
    let shown;
    try {
      shown = show(await ask());
    } catch (error) {
      if (alive.aborted) return;
      shown = [head(), notice(error, run)];
    }
    if (alive.aborted) return;
    place.removeAttribute("aria-busy");
    place.replaceChildren(...[shown].flat(Infinity).filter(Boolean));
  };
  run();
  return place;
}
