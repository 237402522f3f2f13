/** The nodes that the reader has ticked, to ask what if they go: chosen on the heat map, in tables, and in a list. */

const names = new Set();
const listeners = new Set();

export const all = () => [...names];
export const has = (name) => names.has(name);

export function toggle(name) {
  if (!names.delete(name)) names.add(name);
  tell();
}

export function set(wanted) {
  names.clear();
  for (const name of wanted) names.add(name);
  tell();
}

/** Call a listener whenever others are ticked, until a view is closed. */
export function onChange(listener, alive) {
  listeners.add(listener);
  alive.addEventListener("abort", () => listeners.delete(listener));
}

function tell() {
  for (const listener of listeners) listener();
}
