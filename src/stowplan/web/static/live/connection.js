/** Says in the header whether what is shown is live. */

import { element, replace } from "../dom.js";
import * as store from "./store.js";

const CAUGHT_UP_MS = 4000;
const WHY = {
  401: "Not allowed to watch",
  403: "Not allowed to watch",
  503: "Too many watch, trying again",
  tabs: "Not live: too many tabs watch",
};

/** Show the state of the connection in an element. */
export function show(place) {
  let wasLost = false;
  let shown = "";
  let timer = 0;

  const say = (kind, text) => {
    if (shown === text) return;
    shown = text;
    replace(place, element("span", { class: `dot ${kind}`, "aria-hidden": "true" }), text);
  };
  store.on("connection", () => {
    const { state, error } = store.state.connection;
    clearTimeout(timer);
    document.body.classList.toggle("stale", state !== "live" && wasLost);
    if (state === "live") {
      say("good", wasLost ? "Caught up" : "Live");
      document.body.classList.remove("stale");
      if (wasLost) timer = setTimeout(() => say("good", "Live"), CAUGHT_UP_MS);
      wasLost = false;
    } else if (state === "lost") {
      wasLost = true;
      document.body.classList.add("stale");
      say("bad", WHY[error?.code] ?? "Connection lost, reconnecting");
    } else if (!wasLost) {
      say("wait", state === "paused" ? "Paused while hidden" : "Connecting");
    }
  });
}
