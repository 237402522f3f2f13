/** Draws at most once a frame, and keeps how long the last frames took, in `window.stowplanFrames`. */

const KEPT = 600;
const wanted = new Map();
let isAsked = false;
/** Milliseconds spent since the last frame on reading what came. */
let spent = 0;

/** Milliseconds of work in each of the last frames in which something was drawn, with reading what came before it. */
const times = [];
window.stowplanFrames = times;

export const frame = {
  /** Count work that was done for the next frame. */
  add(milliseconds) {
    spent += milliseconds;
  },

  /** Have something drawn in the next frame, once, however often it is asked for under one name. */
  ask(name, draw) {
    wanted.set(name, draw);
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(run);
  },
};

function run() {
  const started = performance.now();
  isAsked = false;
  const draws = [...wanted.values()];
  wanted.clear();
  for (const draw of draws) draw();
  times.push(performance.now() - started + spent);
  spent = 0;
  if (times.length > KEPT) times.splice(0, times.length - KEPT);
}
