// Measures window by window: A dashed, B whole, one scale for both.
import { html } from "../html.js";
import { age, decimal } from "../words.js";

const WIDTH = 300;
const HEIGHT = 56;

function path(values, low, high) {
  const step = WIDTH / Math.max(1, values.length - 1);
  const span = high - low || 1;
  let pen = "M";
  return values
    .map((value, i) => {
      if (value === null) {
        pen = "M";
        return "";
      }
      const point = `${pen}${(i * step).toFixed(1)} ${(HEIGHT - 4 - ((value - low) / span) * (HEIGHT - 8)).toFixed(1)}`;
      pen = "L";
      return point;
    })
    .join("");
}

/** @param {{windows: Record<string, {A: (number|null)[], B: (number|null)[]}>, seconds: number}} props */
export function Windows({ windows, seconds }) {
  const names = Object.keys(windows);
  if (!names.length) return null;
  return html`<section class="card padded"><div class="top-line">
    <h2 class="title">Window by window</h2>
    <span class="tiny soft">windows of ${age(seconds)}; A dashed, B whole</span></div>
    <ul class="windows">${names.map((name) => {
      const { A, B } = windows[name];
      const known = [...A, ...B].filter((one) => one !== null);
      const [low, high] = [Math.min(...known), Math.max(...known)];
      return html`<li key=${name}><p class="small soft">${name}</p>
        <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img"
        aria-label=${`${name}: ${decimal(low)} to ${decimal(high)}`}>
        <path class="a" d=${path(A, low, high)} vector-effect="non-scaling-stroke" />
          <path class="b" d=${path(B, low, high)} vector-effect="non-scaling-stroke" /></svg>
        <p class="tiny quiet">${decimal(low)} to ${decimal(high)}</p></li>`;
    })}</ul></section>`;
}
