// Bars: how many wait and where, how full something is, how far a trial is.
import { html } from "../html.js";
import { count } from "../words.js";

export const QUEUES = [
  ["active", "active", "next in line"],
  ["backoff", "backoff", "in backoff"],
  ["unschedulable", "unschedulable", "without a node"],
  ["gated", "gated", "gated"],
];

/** Lengths by square root, so that 1 is seen beside 120. */
const share = (number) => ({ "--share": String(Math.sqrt(number)) });

/** A profile's queue as a bar with its counts in words. */
export function DepthBar({ depth }) {
  const there = QUEUES.filter(([key]) => depth[key] > 0);
  if (!there.length) return html`<span class="quiet">nothing waits</span>`;
  const words = there.map(([key, word]) => `${count(depth[key])} ${word}`).join(" · ");
  return html`<div class="depth" aria-hidden="true">${there.map(
    ([key]) => html`<i key=${key}
    class=${key} style=${share(depth[key])}></i>`,
  )}</div>
    <span class="tiny soft">${words}</span>`;
}

/** The same over all profiles, large, with its legend. */
export function DepthLegend({ depth, side }) {
  return html`<div class="depth large" aria-hidden="true">${QUEUES.filter(
    ([key]) => depth[key] > 0,
  ).map(([key]) => html`<i key=${key} class=${key} style=${share(depth[key])}></i>`)}</div>
    <div class="legend"><ul>${QUEUES.map(
      ([key, , word]) => html`<li key=${key}>
      <i class=${`swatch ${key}`}></i><b>${count(depth[key])}</b> ${word}</li>`,
    )}</ul>
    ${side && html`<span class="quiet small">${side}</span>`}</div>`;
}

/** How full: a share of 0 to 1, its words stand beside it. */
export const FullBar = ({ share: full, tone = "" }) =>
  html`<span class=${`full ${tone}`} aria-hidden="true">
    <i style=${{ "--full": `${Math.min(100, Math.max(0, full * 100))}%` }}></i></span>`;

/** A count, what it counts, its bar and a line below: why pods wait. */
export function CountedBar({ number, most, queue, text, under }) {
  return html`<li class="counted"><b class="number">${count(number)}</b><div>
    <p>${text}</p>
    <div class="depth" aria-hidden="true">
      <i class=${queue}
      style=${{ "--full": `${(Math.sqrt(number) / Math.sqrt(most || 1)) * 100}%` }}></i></div>
    ${under && html`<p class="tiny soft">${under}</p>`}</div></li>`;
}

/** A trial: pods on the same node, elsewhere, and those still to come. */
export function TrialBar({ same, other, toGo }) {
  const parts = [
    ["same", same],
    ["other", other],
    ["to-go", toGo || 0],
  ].filter(([, number]) => number > 0);
  return html`<div class="trial-bar" aria-hidden="true">${parts.map(
    ([name, number]) =>
      html`<i key=${name} class=${name} style=${{ "--share": String(number) }}></i>`,
  )}</div>`;
}
