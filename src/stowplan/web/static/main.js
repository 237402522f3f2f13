/** The frame of the page: opens the view that the address names, and keeps header, title and focus with it. */

import { element, replace } from "./dom.js";
import * as connection from "./live/connection.js";
import * as store from "./live/store.js";
import * as token from "./live/token.js";
import { notice } from "./parts/notice.js";
import * as search from "./parts/search.js";
import { read } from "./routes.js";
import * as theme from "./theme.js";
import * as cluster from "./views/cluster.js";
import * as groups from "./views/group.js";
import * as nodes from "./views/node.js";
import * as pods from "./views/pod.js";
import * as queue from "./views/queue.js";
import * as trial from "./views/try.js";

/**
 * Each has `open(route, alive)`, which returns its elements. All are loaded at the beginning: one that is opened for
 * the first time while nobody answers can say so.
 */
const VIEWS = { cluster, queue, pods, nodes, groups, try: trial };

const content = document.getElementById("content");
/** What ends the view that is shown. */
let alive = new AbortController();

function openView() {
  const route = read(location.hash);
  alive.abort();
  alive = new AbortController();
  const { signal } = alive;
  markTab(route?.view);
  if (!route) {
    document.title = "Not found - Stowplan";
    replace(
      content,
      element("h1", {}, "There is no such page"),
      element("p", {}, element("a", { href: "#/" }, "Go to the cluster")),
    );
    return;
  }
  document.title = `${titleOf(route)} - Stowplan`;
  try {
    replace(content, VIEWS[route.view].open(route, signal));
  } catch (error) {
    replace(content, element("h1", {}, titleOf(route)), notice(error, openView));
  }
}

function titleOf(route) {
  const titles = { cluster: "Cluster", queue: "Queue", try: "Try it" };
  return titles[route.view] ?? route.names.join("/");
}

function markTab(view) {
  for (const tab of document.querySelectorAll("[data-tab]")) {
    if (tab.dataset.tab === view) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
}

/** Begin with the cluster; if that cannot be read, say so and try again until it can. */
async function begin() {
  try {
    await store.start();
  } catch (error) {
    replace(content, element("h1", {}, "The cluster cannot be shown"), notice(error, begin));
    if (error.code !== 401 && error.code !== 403) setTimeout(begin, 3000 * (0.5 + Math.random()));
    return;
  }
  // The view says first what nodes are grouped by.
  openView();
  store.connect();
  addEventListener("hashchange", () => {
    openView();
    scrollTo(0, 0);
    content.focus({ preventScroll: true });
  });
}

document.querySelector(".skip").addEventListener("click", (event) => {
  // The part after # names a view here.
  event.preventDefault();
  content.focus();
});
theme.start(document.getElementById("theme"));
connection.show(document.getElementById("connection"));
token.start();
search.start(document.getElementById("search"));
begin();
