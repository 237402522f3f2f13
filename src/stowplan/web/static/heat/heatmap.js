/** Draws nodes as cells on a canvas: all of them when the picture is another, else only those that changed. */

import { colour } from "../theme.js";
import { NONE, palette } from "./colours.js";
import { layOut, TITLE_HEIGHT } from "./layout.js";

const CORDONED = 1;
const NOT_READY = 2;
const TICKED = 4;

/** Return what is to be marked on a node beside its share. */
export function marksOf(status, isUnschedulable, isTicked) {
  const isReady = status.split(",")[0] === "Ready";
  return (isUnschedulable ? CORDONED : 0) | (isReady ? 0 : NOT_READY) | (isTicked ? TICKED : 0);
}

export class HeatMap {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this._canvas = canvas;
    this._pen = canvas.getContext("2d");
    this._drawn = new Uint16Array(0);
    this._width = 0;
    this.layout = layOut([], 1, 1, 1);
    this.cursor = -1;
  }

  /** Arrange groups of nodes anew, and draw everything. */
  arrange(groups, { width, height, zoom }, cellOf) {
    this._width = width;
    this.layout = layOut(groups, width, height, zoom);
    this._drawn = new Uint16Array(this.layout.place.length / 2);
    this._resize();
    this.drawAll(cellOf);
  }

  /** Draw everything; `cellOf` gives level and marks of a row as one number (`cell`). */
  drawAll(cellOf) {
    const pen = this._pen;
    this._palette = palette();
    this._ink = colour("ink");
    this._ground = colour("panel");
    this._line = colour("line");
    this._accent = colour("accent");
    this._muted = colour("muted");
    pen.fillStyle = this._ground;
    pen.fillRect(0, 0, this._width, this.layout.height);
    this.drawTitles(this.layout.blocks.map((block) => block.title));
    for (const block of this.layout.blocks) {
      for (const row of block.rows) this._draw(row, cellOf(row));
    }
    this._drawCursor();
  }

  /** Write other titles over the groups; a group that has none keeps none. */
  drawTitles(titles) {
    const pen = this._pen;
    pen.font = `600 12px ${colour("font")}`;
    pen.textBaseline = "top";
    this.layout.blocks.forEach((block, at) => {
      if (!block.title) return;
      const room = Math.max(40, block.columns * this.layout.size);
      const top = block.top - TITLE_HEIGHT;
      pen.fillStyle = this._ground;
      pen.fillRect(block.left, top, room, TITLE_HEIGHT);
      pen.fillStyle = this._muted;
      pen.fillText(shortened(pen, titles[at], room), block.left, top + 3);
    });
  }

  /** Draw those of the rows that look different now. */
  drawRows(rows, cellOf) {
    for (const row of rows) {
      const cell = cellOf(row);
      if (row < this._drawn.length && this._drawn[row] !== cell) this._draw(row, cell);
    }
    this._drawCursor();
  }

  /** Move the frame that shows which node is meant; -1 takes it away. */
  moveCursor(row) {
    const before = this.cursor;
    this.cursor = row;
    if (before >= 0 && before < this._drawn.length) this._draw(before, this._drawn[before]);
    this._drawCursor();
  }

  _resize() {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this._canvas.width = Math.round(this._width * ratio);
    this._canvas.height = Math.round(Math.max(1, this.layout.height) * ratio);
    this._canvas.style.width = `${this._width}px`;
    this._canvas.style.height = `${this.layout.height}px`;
    this._pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  _draw(row, cell) {
    this._drawn[row] = cell;
    const pen = this._pen;
    const { size, place } = this.layout;
    const x = place[2 * row];
    const y = place[2 * row + 1];
    const level = cell & 31;
    const marks = cell >> 5;
    const inner = size - (size > 14 ? 2 : 1);
    pen.fillStyle = this._ground;
    pen.fillRect(x, y, size, size);
    pen.fillStyle = marks & NOT_READY ? this._ground : this._palette[level];
    pen.fillRect(x, y, inner, inner);
    if (level === NONE || marks & NOT_READY) this._frame(x, y, inner, this._line, 1);
    if (marks & (CORDONED | NOT_READY)) this._strike(x, y, inner, marks);
    if (marks & TICKED) {
      this._frame(x, y, inner, this._ground, size > 14 ? 5 : 3);
      this._frame(x, y, inner, this._accent, size > 14 ? 3 : 2);
    }
  }

  /** A stroke through a cordoned node, a cross through one that is not ready, each with a rim to stand out. */
  _strike(x, y, inner, marks) {
    const pen = this._pen;
    for (const [style, width] of [
      [this._ground, inner > 10 ? 5 : 3],
      [this._ink, inner > 10 ? 2 : 1],
    ]) {
      pen.strokeStyle = style;
      pen.lineWidth = width;
      pen.save();
      pen.beginPath();
      pen.rect(x, y, inner, inner);
      pen.clip();
      pen.beginPath();
      pen.moveTo(x, y + inner);
      pen.lineTo(x + inner, y);
      if (marks & NOT_READY) {
        pen.moveTo(x, y);
        pen.lineTo(x + inner, y + inner);
      }
      pen.stroke();
      pen.restore();
    }
  }

  _frame(x, y, inner, style, width) {
    this._pen.strokeStyle = style;
    this._pen.lineWidth = width;
    this._pen.strokeRect(x + width / 2, y + width / 2, inner - width, inner - width);
  }

  _drawCursor() {
    const row = this.cursor;
    if (row < 0 || row >= this._drawn.length) return;
    const { size, place } = this.layout;
    this._frame(place[2 * row], place[2 * row + 1], size - 1, this._ground, 4);
    this._frame(place[2 * row], place[2 * row + 1], size - 1, this._ink, 2);
  }
}

/** Put a level and marks into one number. */
export const cell = (level, marks) => level | (marks << 5);

function shortened(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let length = text.length;
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > room) length -= 1;
  return `${text.slice(0, length)}…`;
}
