/** The addresses of the views: `#/pods/shop/web-1?against=node-7` and the like, read and written. */

/**
 * @typedef {Object} Route
 * @property {string} view
 * @property {string[]} names what follows the view: a namespace and a name, or a name
 * @property {Object<string, string>} query
 */

/** How many names each view takes. */
const NAMES = { "": 0, queue: 0, try: 0, nodes: 1, pods: 2, groups: 2 };

/**
 * Read the part of an address after `#`.
 * @param {string} hash
 * @returns {Route|null} null if there is no such view
 */
export function read(hash) {
  const [path, query = ""] = divide(hash.replace(/^#/, "") || "/", "?");
  const parts = path.replace(/^\//, "").split("/");
  let names;
  try {
    names = parts.slice(1).filter(Boolean).map(decodeURIComponent);
  } catch {
    return null;
  }
  const view = parts[0];
  // In the path of a request these would lead elsewhere.
  if (names.some((name) => name === "." || name === "..")) return null;
  if (!path.startsWith("/") || NAMES[view] !== names.length) return null;
  return { view: view || "cluster", names, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** Write an address; queries that are empty are left out. */
export function link(view, names = [], query = {}) {
  const path = ["#", view === "cluster" ? "" : view, ...names.map(encodeURIComponent)].join("/");
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

export const podLink = (key, query = {}) => link("pods", split(key), query);
export const nodeLink = (name) => link("nodes", [name]);
export const groupLink = (key) => link("groups", split(key));

/** Open an address, anew if it is the one that is shown. */
export function go(address) {
  if (location.hash === address) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = address;
}

/** Change queries of the address that is shown, without a step in the history and without opening the view anew. */
export function amend(query) {
  const route = read(location.hash);
  if (!route) return;
  const address = link(route.view, route.names, { ...route.query, ...query });
  history.replaceState(history.state, "", address);
}

/** Divide `namespace/name`. */
function split(key) {
  const [namespace, name] = divide(key, "/");
  return name === undefined ? ["default", namespace] : [namespace, name];
}

function divide(text, at) {
  const index = text.indexOf(at);
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + at.length)];
}
