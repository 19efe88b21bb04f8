// The sentence that is the answer, with what stands below it, and notes.
import { classes, html, useEffect, useRef, useState } from "../html.js";
import { Shape } from "../icons.js";

/** How often a reader of the screen is told a new sentence at most, in milliseconds. */
const TOLD_MS = 10000;

/** A view's first line. It is told politely when it changes, not at every change. */
export function Lead({ sentence, under, children }) {
  return html`<div class="lead">
    <p class="sentence">${sentence}</p>
    ${under && html`<p class="under">${under}</p>`}
    ${children}
    <${Told} text=${sentence} />
  </div>`;
}

function Told({ text }) {
  const [told, tell] = useState("");
  const last = useRef({ at: 0, first: true });
  useEffect(() => {
    if (last.current.first || !text) {
      last.current.first = !text;
      return undefined;
    }
    const wait = Math.max(0, last.current.at + TOLD_MS - performance.now());
    const timer = setTimeout(() => {
      last.current.at = performance.now();
      tell(text);
    }, wait);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<span class="unseen" aria-live="polite">${told}</span>`;
}

/** What needs a look: its cause, and where to go. `severity`: bad, warn or trial. */
export function Note({ severity, children, link, linkText }) {
  return html`<div class=${`note soft-${severity}`}>
    <${Shape} state=${severity} size=${14} />
    <div class="text">${children}</div>
    ${link && html`<a class="link" href=${link}>${linkText}</a>`}
  </div>`;
}

/** Figures in a row: [{label, value, under}]. */
export function Strip({ figures }) {
  return html`<dl class="strip">${figures.map(
    ({ label, value, under }) => html`<div key=${label}>
    <dt>${label}</dt><dd class="figure">${value}</dd><dd class="tiny soft">${under || " "}</dd>
  </div>`,
  )}</dl>`;
}

/** A state as shape and word. */
export function Chip({ state, children, plain }) {
  return html`<span class=${classes("chip", !plain && `soft-${state}`)}>
    <${Shape} state=${state} size=${11} />${children}</span>`;
}

/** Text with `code` between backticks. */
export function Spelled({ text }) {
  return String(text || "")
    .split("`")
    .map((part, i) =>
      i % 2
        ? html`<code key=${i}>${part}
    </code>`
        : part,
    );
}

/** A heading of a part of a view. */
export function Head({ title, side, id }) {
  return html`<div class="head"><h2 id=${id}>${title}</h2>${
    side &&
    html`<span class="side">${side}
    </span>`
  }</div>`;
}
