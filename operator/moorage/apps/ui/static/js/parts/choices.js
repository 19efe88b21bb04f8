// One of a few: buttons beside each other, and links in the same dress.
import { html } from "../html.js";

/** `options`: [[value, word]]. */
export function Choice({ label, options, value, onChoose }) {
  return html`<div class="choice" role="group" aria-label=${label}>
    ${options.map(
      ([key, word]) => html`<button
    key=${key} type="button" aria-pressed=${key === value} onClick=${() => onChoose(key)}>${word}
      </button>`,
    )}</div>`;
}

/** The same where each has its address: [[value, word, href]]. */
export function LinkChoice({ label, options, value }) {
  return html`<nav class="choice" aria-label=${label}>${options.map(
    ([key, word, where]) => html`<a
    key=${key} href=${where} aria-current=${key === value ? "true" : undefined}>${word}</a>`,
  )}
      </nav>`;
}
