/** A field that suggests what it may be filled with, for pointer, keyboard and screen reader alike. */

import { element, replace } from "../dom.js";

let made = 0;

/**
 * @typedef {Object} Suggestion
 * @property {string} text
 * @property {string} [note]
 * @property {any} value
 */

/**
 * Make a field. What it suggests are names, which Kubernetes has in small letters only.
 * @param {{label: string, placeholder: string, find: (text: string) => Suggestion[]|Promise<Suggestion[]>,
 *          onChoice: (value: any) => void, none: string}} options
 */
export function suggest(options) {
  made += 1;
  const listId = `suggestions-${made}`;
  const list = element("ul", {
    id: listId,
    class: "suggestions",
    role: "listbox",
    "aria-label": options.label,
    hidden: true,
  });
  const field = element("input", {
    type: "search",
    role: "combobox",
    "aria-label": options.label,
    placeholder: options.placeholder,
    "aria-controls": listId,
    "aria-expanded": "false",
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "off",
  });
  const shown = { items: [], at: -1, asked: 0 };

  const close = () => {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };
  const choose = (item) => {
    close();
    field.value = "";
    options.onChoice(item.value);
  };
  const mark = (at) => {
    shown.at = at;
    [...list.children].forEach((line, index) => line.setAttribute("aria-selected", String(index === at)));
    if (at >= 0) {
      field.setAttribute("aria-activedescendant", `${listId}-${at}`);
      list.children[at].scrollIntoView({ block: "nearest" });
    }
  };
  const refresh = async () => {
    const asked = (shown.asked += 1);
    const items = await options.find(field.value.trim().toLowerCase());
    if (asked !== shown.asked || document.activeElement !== field) return;
    shown.items = items;
    const lines = items.map((item, at) =>
      element(
        "li",
        {
          id: `${listId}-${at}`,
          role: "option",
          "aria-selected": "false",
          // The pointer must not take the focus before the choice is made.
          on: { pointerdown: (event) => event.preventDefault(), click: () => choose(item) },
        },
        element("span", {}, item.text),
        item.note ? element("span", { class: "note" }, item.note) : null,
      ),
    );
    const nothing = element(
      "li",
      { class: "note", role: "option", "aria-disabled": "true", "aria-selected": "false" },
      options.none,
    );
    replace(list, lines.length ? lines : nothing);
    list.hidden = field.value.trim() === "" && !items.length;
    field.setAttribute("aria-expanded", String(!list.hidden));
    mark(items.length ? 0 : -1);
  };
  field.addEventListener("input", refresh);
  field.addEventListener("focus", refresh);
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    const { length } = shown.items;
    if (event.key === "Escape" && list.hidden) field.blur();
    else if (event.key === "Escape") close();
    else if (event.key === "ArrowDown" && length) mark((shown.at + 1) % length);
    else if (event.key === "ArrowUp" && length) mark((shown.at - 1 + length) % length);
    else if (event.key === "Enter" && !list.hidden && shown.at >= 0) choose(shown.items[shown.at]);
    else return;
    event.preventDefault();
  });
  return { element: element("div", { class: "suggest" }, field, list), field };
}
