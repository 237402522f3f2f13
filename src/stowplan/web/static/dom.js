/** Builds elements. Whatever comes from the cluster becomes text here, never markup. */

/** What is set as a property: as an attribute it would only be the value at the beginning. */
const PROPERTIES = new Set(["checked", "disabled", "hidden", "indeterminate", "selected", "tabIndex", "value"]);

/**
 * Make an element.
 * @param {string} tag
 * @param {Object<string, any>} attributes `on` holds listeners, `style` CSS properties; null and false leave one out.
 * @param {...any} children nodes, texts, numbers, and arrays of them; null and false are left out.
 * @returns {any} the element
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(made, name, value);
  return append(made, children);
}

/** Put other children in the place of those that are there. */
export function replace(parent, ...children) {
  parent.textContent = "";
  return append(parent, children);
}

/** Set the text of an element, if it is another: what stays is not laid out anew. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** Put something between each two of a list. */
export function joined(items, between) {
  return items.flatMap((item, at) => (at ? [between, item] : [item]));
}

function setAttribute(made, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === "on") {
    for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
  } else if (name === "style") {
    for (const [property, one] of Object.entries(value)) made.style.setProperty(property, one);
  } else if (PROPERTIES.has(name)) {
    made[name] = value;
  } else {
    made.setAttribute(name, value === true ? "" : String(value));
  }
}

function append(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
  return parent;
}
