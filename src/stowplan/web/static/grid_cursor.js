/** The keyboard in a long table: Tab stops at it once, and arrow keys move among its headings, rows and cells. */

const CONTROLS = "a, button, input";
/** The row of headings, which is above the first row. */
const HEAD = -1;

/**
 * Have the keyboard move in a table; wherever the focus goes by other means, it goes on from there.
 * @param {HTMLTableElement} table its lines have an aria-rowindex, 1 being that of the headings
 * @param {{length: () => number, page: () => number, nearest: (row: number) => HTMLTableRowElement,
 *          reveal: (row: number) => void}} list `page` is how many rows are in sight; `nearest` is that of the lines
 *     that are drawn, and `reveal` draws one and has it in sight
 */
export function gridCursor(table, list) {
  const at = { row: 0, cell: 0, control: 0 };
  /** Where Tab stops. */
  let stop = null;

  const mark = () => {
    const { cells } = list.nearest(at.row);
    const stops = stopsOf(cells[Math.min(at.cell, cells.length - 1)]);
    if (stop) stop.tabIndex = -1;
    stop = stops[Math.min(at.control, stops.length - 1)];
    stop.tabIndex = 0;
  };
  const goToRow = (row) => {
    at.row = Math.max(HEAD, Math.min(list.length() - 1, row));
    if (at.row > HEAD) list.reveal(at.row);
    mark();
    goTo(stop);
  };
  const goInRow = (choose) => {
    const stops = [...stop.closest("tr").cells].flatMap(stopsOf);
    goTo(stops[Math.max(0, Math.min(stops.length - 1, choose(stops.indexOf(stop), stops.length)))]);
  };
  const keys = {
    ArrowUp: () => goToRow(at.row - 1),
    ArrowDown: () => goToRow(at.row + 1),
    PageUp: () => goToRow(Math.max(0, at.row - list.page())),
    PageDown: () => goToRow(at.row + list.page()),
    ArrowLeft: () => goInRow((now) => now - 1),
    ArrowRight: () => goInRow((now) => now + 1),
    Home: () => goInRow(() => 0),
    End: () => goInRow((_, many) => many - 1),
    "Control+Home": () => goToRow(0),
    "Control+End": () => goToRow(list.length() - 1),
  };

  table.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey || event.shiftKey) return;
    if (event.key === "Enter" && !stop.matches(CONTROLS)) stop.closest("tr").querySelector("a")?.click();
    const move = keys[event.ctrlKey ? `Control+${event.key}` : event.key];
    if (!move) return;
    event.preventDefault();
    move();
  });
  table.addEventListener("focusin", ({ target }) => {
    const cell = target.closest("td, th");
    const control = cell ? stopsOf(cell).indexOf(target) : -1;
    if (control < 0) return;
    const row = Number(cell.parentElement.getAttribute("aria-rowindex")) - 2;
    Object.assign(at, { row, cell: cell.cellIndex, control });
    mark();
  });

  return {
    /** Take what is in a line out of the way of Tab. */
    adopt(line) {
      for (const one of [...line.cells].flatMap(stopsOf)) one.tabIndex = -1;
    },
    /** Draw other lines; the focus, if it is in the table, stays where it is or goes to the nearest line. */
    during(draw) {
      const hadFocus = table.contains(document.activeElement);
      draw();
      mark();
      if (hadFocus && !table.contains(document.activeElement)) stop.focus({ preventScroll: true });
    },
    /** The row that the keyboard is in, if it is in one. */
    row: () => (at.row > HEAD && table.contains(document.activeElement) ? at.row : null),
    /** Say that the row that the keyboard is in is another now. */
    follow(row) {
      at.row = row;
    },
  };
}

function goTo(target) {
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** What of a cell can have the focus: what is in it to be used, or else the cell. */
function stopsOf(cell) {
  const controls = [...cell.querySelectorAll(CONTROLS)];
  return controls.length ? controls : [cell];
}
