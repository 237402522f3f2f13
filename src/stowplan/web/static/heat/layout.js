/** Where each node of the heat map is: groups one after the other, in each the nodes in rows of cells. */

export const TITLE_HEIGHT = 20;
const GAP = 12;
const SMALLEST = 6;
const LARGEST = 48;
/** Up to so many groups each has the whole width; more stand side by side. */
const MOST_STACKED = 6;
const NARROWEST_GROUP = 120;
/** Browsers draw nothing on a canvas that is higher than some 32,000 pixels, and screens have two for one. */
const MOST_HEIGHT = 15_000;

/**
 * @typedef {Object} Block
 * @property {string} title
 * @property {number[]} rows the nodes in it
 * @property {number} left
 * @property {number} top of its cells
 * @property {number} columns
 * @property {number} height of its cells
 */

/**
 * Lay nodes out in a width, as large as fits into a height if that is possible, times a zoom.
 * @param {{title: string, rows: number[]}[]} groups
 * @returns {{size: number, height: number, blocks: Block[], place: Int32Array}} `place` has x and y by row
 */
export function layOut(groups, width, height, zoom) {
  let size = LARGEST;
  while (size > SMALLEST && blocksOf(groups, width, size).height > height) size -= 1;
  size = Math.max(SMALLEST, Math.round(size * zoom));
  while (size > SMALLEST && blocksOf(groups, width, size).height > MOST_HEIGHT) size -= 1;
  const { blocks, height: needed } = blocksOf(groups, width, size);
  const most = groups.reduce((top, group) => group.rows.reduce((one, row) => Math.max(one, row), top), -1);
  const place = new Int32Array(2 * (most + 1));
  for (const block of blocks) {
    block.rows.forEach((row, at) => {
      place[2 * row] = block.left + (at % block.columns) * size;
      place[2 * row + 1] = block.top + Math.floor(at / block.columns) * size;
    });
  }
  return { size, height: needed, blocks, place };
}

/** Return the row of the node at a point, or -1. */
export function rowAt(layout, x, y) {
  for (const block of layout.blocks) {
    const column = Math.floor((x - block.left) / layout.size);
    const line = Math.floor((y - block.top) / layout.size);
    if (column < 0 || column >= block.columns || line < 0) continue;
    const at = line * block.columns + column;
    if (at < block.rows.length && y < block.top + block.height) return block.rows[at];
  }
  return -1;
}

/** Return the node that a key leads to from another; the same one at the end. */
export function neighbour(layout, row, key) {
  const order = layout.blocks.flatMap((block) => block.rows);
  if (!order.length) return -1;
  if (key === "Home") return order[0];
  if (key === "End") return order[order.length - 1];
  const index = order.indexOf(row);
  if (index < 0) return order[0];
  if (key === "ArrowLeft") return order[Math.max(0, index - 1)];
  if (key === "ArrowRight") return order[Math.min(order.length - 1, index + 1)];
  return vertical(layout, row, key === "ArrowDown" ? 1 : -1);
}

function vertical(layout, row, direction) {
  const half = layout.size / 2;
  const x = layout.place[2 * row] + half;
  let y = layout.place[2 * row + 1] + half;
  for (;;) {
    y += direction * half;
    if (y < 0 || y > layout.height) return row;
    const found = rowAt(layout, x, y);
    if (found >= 0 && found !== row) return found;
  }
}

function blocksOf(groups, width, size) {
  const widest = Math.max(1, Math.floor(width / size));
  const isStacked = groups.length <= MOST_STACKED;
  const blocks = [];
  let left = 0;
  let top = 0;
  let shelf = 0;
  for (const { title, rows } of groups) {
    const square = Math.max(Math.ceil(Math.sqrt(rows.length * 2)), Math.ceil(NARROWEST_GROUP / size));
    const columns = isStacked ? widest : Math.min(widest, square);
    const taken = columns * size;
    if (left > 0 && (isStacked || left + taken > width)) {
      left = 0;
      top += shelf + GAP;
      shelf = 0;
    }
    const titled = title ? TITLE_HEIGHT : 0;
    const height = Math.ceil(rows.length / columns) * size;
    blocks.push({ title, rows, left, top: top + titled, columns, height });
    shelf = Math.max(shelf, height + titled);
    left += taken + GAP;
  }
  return { blocks, height: top + shelf };
}
