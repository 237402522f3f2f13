/** The colours of the heat map: one scale from pale to strong, told apart by lightness alone, whoever looks. */

import { isDark } from "../theme.js";

export const LEVELS = 20;
/** More is taken than there is. */
export const OVER = LEVELS;
/** The node has none of it. */
export const NONE = LEVELS + 1;

const STOPS = {
  light: [
    [233, 240, 238],
    [160, 204, 206],
    [62, 146, 174],
    [28, 86, 142],
    [24, 35, 92],
  ],
  dark: [
    [37, 45, 54],
    [32, 78, 105],
    [40, 128, 136],
    [122, 182, 110],
    [246, 224, 110],
  ],
};

/** Return the colours by level, as the theme is now. */
export function palette() {
  const stops = isDark() ? STOPS.dark : STOPS.light;
  const scale = Array.from({ length: LEVELS }, (_, level) => mix(stops, level / (LEVELS - 1)));
  return [...scale, isDark() ? "#ff8f85" : "#b3261e", isDark() ? "#171c22" : "#ffffff"];
}

/** Return the level of a share; nothing at all and completely full each have a colour of their own. */
export function levelOf(part, whole) {
  if (!whole) return part > 0 ? OVER : NONE;
  if (part > whole) return OVER;
  if (part <= 0) return 0;
  return Math.max(1, Math.min(LEVELS - 1, Math.floor((part / whole) * (LEVELS - 1))));
}

function mix(stops, at) {
  const scaled = at * (stops.length - 1);
  const from = Math.min(stops.length - 2, Math.floor(scaled));
  const part = scaled - from;
  const parts = stops[from].map((one, index) => Math.round(one + (stops[from + 1][index] - one) * part));
  return `rgb(${parts.join(",")})`;
}
