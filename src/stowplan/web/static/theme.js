/** Light or dark: as the system is set, until the reader chooses; and the colours that canvases draw with. */

const KEY = "stowplan-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();
let colours = null;

/** Have the button switch the theme, and everything drawn follow it. */
export function start(button) {
  apply(localStorage.getItem(KEY) ?? "");
  const tell = () => {
    const next = isDark() ? "light" : "dark";
    button.textContent = next === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", `Switch to ${next} colours`);
  };
  button.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    localStorage.setItem(KEY, next);
    apply(next);
    changed(tell);
  });
  system.addEventListener("change", () => changed(tell));
  tell();
}

/** Call a listener whenever the colours are others; returns what ends that. */
export function onChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : system.matches;
}

/** Return a colour of the style sheet by its name, for a canvas. */
export function colour(name) {
  colours ??= getComputedStyle(document.documentElement);
  return colours.getPropertyValue(`--${name}`).trim();
}

function apply(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
}

function changed(tell) {
  colours = null;
  tell();
  for (const listener of listeners) listener();
}
