// Measures of two worlds: the difference as an interval around zero, filled when it is clear.
import { html } from "../html.js";

const WIDTH = 180;
const MIDDLE = WIDTH / 2;

/** Where an interval's ends are: each row has a scale of its own, zero in the middle. */
export function placed({ difference, interval }) {
  const reach = Math.max(...interval.map(Math.abs), Math.abs(difference)) || 1;
  const x = (value) => MIDDLE + (value / reach) * (MIDDLE - 8);
  return { low: x(interval[0]), high: x(interval[1]), at: x(difference) };
}

function Picture({ measure }) {
  if (!measure.interval) return null;
  const { low, high, at } = placed(measure);
  return html`<svg class=${`interval ${measure.clear ? "clear" : ""}`} width=${WIDTH} height="20"
    viewBox=${`0 0 ${WIDTH} 20`} aria-hidden="true">
    <path class="zero" d=${`M${MIDDLE} 0V20`} /><path class="reach" d=${`M${low} 10H${high}`} />
    <circle cx=${at} cy="10" r="4" /></svg>`;
}

/** @param {{measures: any[], title: string}} props */
export function Intervals({ measures, title }) {
  return html`<div class="card table"><table class="rows intervals"
    aria-label="Measures of A and B">
    <thead><tr><th scope="col" class="on-phone-name">${title}</th>
      <th scope="col" class="number">A</th><th scope="col" class="number">B</th>
      <th scope="col" class="number on-phone-end">B − A</th>
        <th scope="col" class="middle">95 % interval, scaled</th>
        <th scope="col" class="on-phone-under">Verdict</th></tr></thead>
    <tbody>${measures.map(
      (one) => html`<tr key=${one.name} title=${one.text.interval || ""}>
      <th scope="row" class="on-phone-name">${one.name}</th><td class="number">${one.text.a}</td>
        <td class="number strong">${one.text.b}</td>
      <td class="number on-phone-end">${one.text.difference || "–"}</td><td class="middle">
        <${Picture} measure=${one} /></td>
      <td class=${`on-phone-under ${one.clear ? "" : "quiet"}`}>${verdict(one)}
        <span class="unseen">${one.text.interval}</span></td></tr>`,
    )}</tbody></table></div>`;
}

const verdict = (one) =>
  one.interval ? (one.clear ? "clear" : "no clear difference") : "too little to say";
