/** Asks the reader for a token when the scheduler wants to know who asks. */

import { RIGHT, keepToken, whenTokenNeeded } from "../api.js";
import { element, setText } from "../dom.js";

/** The one question that is open, for however many requests wait for it. */
let open = null;
/** Whether the reader would not give one: it is not asked for again until the reader wants to. */
let isDeclined = false;

export function start() {
  whenTokenNeeded((error) => {
    if (isDeclined) return Promise.resolve(false);
    open ??= askOnce(error).then((isGiven) => {
      isDeclined = !isGiven;
      open = null;
      return isGiven;
    });
    return open;
  });
}

/** Have the reader be asked again. */
export function askAgain() {
  isDeclined = false;
}

/** Show a dialog; resolves to whether a token was given. */
function askOnce(error) {
  const isRefused = error.code === 403;
  const field = element("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    class: "wide",
  });
  const why = element("p", { class: "note" });
  setText(why, error.message);
  const dialog = element(
    "dialog",
    { class: "ask", "aria-labelledby": "token-title" },
    element(
      "form",
      { method: "dialog" },
      element("h2", { id: "token-title" }, isRefused ? "You may not read this" : "Who are you?"),
      why,
      element("label", { for: "token" }, "Bearer token"),
      field,
      element(
        "p",
        { class: "note" },
        `It is kept in this tab only, until the tab is closed. Who reads needs get and post on ${RIGHT}.`,
      ),
      element(
        "div",
        { class: "row end" },
        element("button", { type: "button", on: { click: () => dialog.close("") } }, "Cancel"),
        element("button", { type: "submit", class: "main", value: "given" }, "Use this token"),
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  field.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const isGiven = dialog.returnValue === "given" && field.value.trim() !== "";
      if (isGiven) keepToken(field.value.trim());
      dialog.remove();
      resolve(isGiven);
    });
  });
}
