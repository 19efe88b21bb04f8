// Icons, and the shapes that say a state beside its word: never by colour alone.
import { html } from "./html.js";

const PATHS = {
  overview: "M3 12.5 6.2 8l2.6 2.6L13 4M3 15h11",
  nodes: "M3 3h4.5v4.5H3zM10.5 3H15v4.5h-4.5zM3 10.5h4.5V15H3zM10.5 10.5H15V15h-4.5z",
  queue: "M3 4h12M3 9h8M3 14h5",
  profiles: "M5 3.5v11M5 9h4.5a3 3 0 0 0 3-3",
  recordings: "M9 5v4l2.6 1.6M9 2.6a6.4 6.4 0 1 0 0 12.8A6.4 6.4 0 0 0 9 2.6z",
  compare: "M3 3.5h4.8v11H3zM10.2 3.5H15v11h-4.8z",
  find: "M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3zM11.8 11.8 15 15",
  copy: "M6.5 6.5h8v8h-8zM3.5 11.5v-8h8",
  theme: "M9 3a6 6 0 1 0 6 6 4.6 4.6 0 0 1-6-6z",
};

/** A line icon of 18 px. */
export function Icon({ name }) {
  const dots =
    name === "profiles" &&
    html`<circle cx="5" cy="3.5" r="1.7" /><circle cx="5" cy="14.5" r="1.7" />
      <circle cx="12.5" cy="5" r="1.7" />`;
  return html`<svg class="icon" width="18" height="18" viewBox="0 0 18 18" fill="none"
    stroke="currentColor"
    stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
    <path d=${PATHS[name]} />${dots}</svg>`;
}

export const Anchor = () => html`<svg width="22" height="22" viewBox="0 0 24 24" aria-hidden="true"
  class="anchor">
  <rect width="24" height="24" rx="6" /><g fill="none" stroke-width="1.8" stroke-linecap="round"
  stroke-linejoin="round"><circle cx="12" cy="6.6" r="1.9" />
  <path d="M12 8.5v10M8.6 11.4h6.8M5.6 13.6a6.4 6.4 0 0 0 12.8 0" /></g></svg>`;

/** Shape by state: the second entry is the class of its colour. */
export const SHAPES = {
  ok: ["circle", "is-ok"],
  bad: ["cross", "is-bad"],
  warn: ["triangle", "is-warn"],
  trial: ["half", "is-trial"],
  past: ["ring", "is-quiet"],
  swap: ["diamond", "is-ok"],
  wait: ["ring", "is-warn"],
  quiet: ["ring", "is-quiet"],
  trialSwap: ["diamond", "is-trial"],
};

function drawn(shape) {
  switch (shape) {
    case "circle":
      return html`<circle cx="6" cy="6" r="4" fill="currentColor" />`;
    case "ring":
      return html`<circle cx="6" cy="6" r="3.6" fill="none" stroke="currentColor"
      stroke-width="1.8" />`;
    case "half":
      return html`<circle cx="6" cy="6" r="4" fill="none" stroke="currentColor"
      stroke-width="1.6" />
      <path d="M6 2a4 4 0 0 1 0 8z" fill="currentColor" />`;
    case "cross":
      return html`<path d="m2.4 2.4 7.2 7.2m0-7.2-7.2 7.2" stroke="currentColor"
      stroke-width="2.2" fill="none" />`;
    case "triangle":
      return html`<path d="M6 1.4 11 10.4H1z" fill="currentColor" />`;
    default:
      return html`<path d="M6 .8 11.2 6 6 11.2.8 6z" fill="currentColor" />`;
  }
}

/** The shape of a state; words beside it say the same. */
export function Shape({ state, size = 12 }) {
  const [shape, colour] = SHAPES[state] || SHAPES.quiet;
  return html`<svg class=${`shape ${colour}`} width=${size} height=${size} viewBox="0 0 12 12"
    aria-hidden="true">
    ${drawn(shape)}</svg>`;
}

/** A profile's square; the fifth and later ones are hatched, and the name stands beside it. */
export function Swatch({ index = 0 }) {
  return html`<i class=${`swatch profile-${index % 4} ${index % 8 > 3 ? "hatched" : ""}`}
    aria-hidden="true"></i>`;
}
