/** A table of any length: only the rows in sight are elements. Sorted by any column, filtered by whoever owns it. */

import { element, replace, setText } from "./dom.js";
import { count } from "./format.js";
import { gridCursor } from "./grid_cursor.js";

const ROW_HEIGHT = 28;
/** Rows beyond the edge, so that nothing flickers while one scrolls. */
const SPARE = 8;

/**
 * @typedef {Object} Column
 * @property {string} title
 * @property {number} width in pixels
 * @property {(row: any) => any} value what it is sorted by: a number, a text or null; null comes last
 * @property {(row: any) => any} [cell] what is shown, if not the value: a text or a node
 * @property {boolean} [isNumber]
 * @property {string} [hint]
 */

const collator = new Intl.Collator("en", { numeric: true });

/**
 * Make a table.
 * @param {{label: string, columns: Column[], height?: number, empty?: string,
 *          sort?: {column: number, isDescending: boolean}}} options
 */
export function grid(options) {
  const height = options.height ?? 480;
  const made = {
    columns: options.columns,
    rows: [],
    sorted: [],
    sort: options.sort ?? { column: 0, isDescending: false },
    /** The rows that are elements now, by where they are. */
    drawn: new Map(),
    order: null,
  };
  const head = element("tr", { "aria-rowindex": 1 });
  const above = element("tr", { class: "spacer", "aria-hidden": "true" }, element("td"));
  const below = element("tr", { class: "spacer", "aria-hidden": "true" }, element("td"));
  const body = element("tbody", {}, above, below);
  const sizes = element("colgroup");
  const table = element(
    "table",
    { class: "grid", role: "grid", "aria-readonly": "true", "aria-label": options.label },
    sizes,
    element("thead", {}, head),
    body,
  );
  // Some browsers stop at whatever scrolls.
  const scroller = element("div", { class: "scroller", tabindex: "-1", style: { "max-height": `${height}px` } }, table);
  const note = element("p", { class: "note" });

  const sortBy = (column) => {
    const isSame = made.sort.column === column;
    made.sort = { column, isDescending: isSame ? !made.sort.isDescending : Boolean(made.columns[column].isNumber) };
    showHead();
    arrange();
  };
  const drawHead = () => {
    replace(
      sizes,
      made.columns.map((column) => element("col", { style: { width: `${column.width}px` } })),
    );
    table.style.minWidth = `${made.columns.reduce((sum, column) => sum + column.width, 0)}px`;
    replace(
      head,
      made.columns.map((column, at) => heading(column, at, made.sort, () => sortBy(at))),
    );
    cursor.adopt(head);
    for (const spacer of [above, below]) spacer.firstChild.colSpan = made.columns.length;
    // The first column stays in sight, and nothing that has the focus is to be behind it.
    scroller.style.setProperty("--first-column", `${made.columns[0].width}px`);
  };
  const showHead = () => cursor.during(drawHead);
  const arrange = () => {
    const name = nameOf(made, cursor.row());
    const column = made.columns[made.sort.column] ?? made.columns[0];
    const order = { rows: made.rows, keys: made.rows.map(column.value), isDescending: made.sort.isDescending };
    // What comes again as it was need not be sorted again: names stay, only numbers change.
    if (!isSameOrder(made.order, order)) made.sorted = sorted(order);
    made.order = order;
    table.setAttribute("aria-rowcount", made.sorted.length + 1);
    cursor.during(() => {
      for (const one of made.drawn.values()) one.remove();
      made.drawn.clear();
      drawRows();
      const row = [...made.drawn.keys()].find((at) => nameOf(made, at) === name);
      if (name !== null && row !== undefined) cursor.follow(row);
    });
  };
  /** Have the rows in sight be there, and no others; those that stay in sight stay the same elements. */
  const drawRows = () => {
    const room = Math.ceil(height / ROW_HEIGHT);
    const latest = Math.max(0, made.sorted.length - room - SPARE);
    const first = Math.min(latest, Math.max(0, Math.floor(scroller.scrollTop / ROW_HEIGHT) - SPARE));
    const last = Math.min(made.sorted.length, first + room + 2 * SPARE);
    above.firstChild.style.height = `${first * ROW_HEIGHT}px`;
    below.firstChild.style.height = `${(made.sorted.length - last) * ROW_HEIGHT}px`;
    for (const [at, one] of made.drawn) {
      if (at >= first && at < last) continue;
      one.remove();
      made.drawn.delete(at);
    }
    let next = below;
    for (let at = last - 1; at >= first; at -= 1) {
      if (!made.drawn.has(at)) {
        made.drawn.set(at, line(made.columns, made.sorted[at], at));
        cursor.adopt(made.drawn.get(at));
        next.before(made.drawn.get(at));
      }
      next = made.drawn.get(at);
    }
  };
  const draw = () => cursor.during(drawRows);
  const cursor = gridCursor(table, {
    length: () => made.sorted.length,
    page: () => Math.max(1, Math.floor((scroller.clientHeight - head.offsetHeight) / ROW_HEIGHT)),
    nearest: (row) => (row < 0 ? head : (nearest(made.drawn, row) ?? head)),
    reveal(row) {
      const room = scroller.clientHeight - head.offsetHeight;
      const top = row * ROW_HEIGHT;
      scroller.scrollTop = Math.max(Math.min(scroller.scrollTop, top), top + ROW_HEIGHT - room);
      draw();
    },
  });
  scroller.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  showHead();

  return {
    element: element("div", { class: "gridded" }, scroller, note),
    /** Show rows; of `total` if others are filtered out. */
    show(rows, total = rows.length) {
      made.rows = rows;
      const all = rows.length === total ? count(total) : `${count(rows.length)} of ${count(total)}`;
      // A press that has begun ends on what it began on.
      if (body.matches(":active")) {
        addEventListener("pointerup", () => setTimeout(() => this.show(rows, total)), { once: true });
        return;
      }
      setText(note, rows.length ? `${all} ${total === 1 ? "row" : "rows"}` : (options.empty ?? "Nothing to show."));
      arrange();
    },
    /** Show other columns, and sort by the first if there are fewer now. */
    setColumns(columns) {
      made.columns = columns;
      if (made.sort.column >= columns.length) made.sort = { column: 0, isDescending: false };
      showHead();
      arrange();
    },
  };
}

/** Return what a row is known by, however rows are sorted. */
function nameOf({ sorted: rows, columns }, row) {
  return rows[row] === undefined ? null : columns[0].value(rows[row]);
}

/** Return the line of a row, or of the one next to it if that is not drawn. */
function nearest(drawn, row) {
  const all = [...drawn.keys()];
  return drawn.get(Math.max(Math.min(...all), Math.min(Math.max(...all), row)));
}

function heading(column, at, sort, onClick) {
  const isSorted = sort.column === at;
  const direction = sort.isDescending ? "descending" : "ascending";
  return element(
    "th",
    { scope: "col", class: column.isNumber ? "number" : null, "aria-sort": isSorted ? direction : null },
    element(
      "button",
      { type: "button", title: column.hint ?? column.title, on: { click: onClick } },
      element("span", {}, column.title),
      element("span", { class: "arrow", "aria-hidden": "true" }, isSorted ? (sort.isDescending ? "▼" : "▲") : ""),
    ),
  );
}

function line(columns, row, at) {
  return element(
    "tr",
    { "aria-rowindex": at + 2 },
    columns.map((column) => {
      const shown = column.cell ? column.cell(row) : (column.value(row) ?? "–");
      const isText = !(shown instanceof Node);
      return element("td", { class: column.isNumber ? "number" : null, title: isText ? String(shown) : null }, shown);
    }),
  );
}

function isSameOrder(before, now) {
  if (!before || before.isDescending !== now.isDescending || before.rows.length !== now.rows.length) return false;
  return now.rows.every((row, at) => row === before.rows[at] && now.keys[at] === before.keys[at]);
}

function sorted({ rows, keys, isDescending }) {
  const keyed = rows.map((row, at) => ({ row, key: keys[at] }));
  const sign = isDescending ? -1 : 1;
  keyed.sort((one, other) => {
    if (isNothing(one.key) || isNothing(other.key)) return Number(isNothing(one.key)) - Number(isNothing(other.key));
    return sign * (typeof one.key === "string" ? collator.compare(one.key, other.key) : one.key - other.key);
  });
  return keyed.map((one) => one.row);
}

const isNothing = (key) => key === null || key === undefined || key === "";
