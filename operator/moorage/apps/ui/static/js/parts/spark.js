// A spark line: how something went in the hour up to a moment. Its last value stands beside it.
import { html } from "../html.js";

const SECONDS = 3600;
const WIDTH = 92;
const HEIGHT = 24;

/** The points of a curve in the hour up to `time`; empty where nothing is known of it. */
export function lastHour({ begin, end, step }, curve, time) {
  const until = Math.min(time ?? end, end);
  const last = Math.min(Math.floor((until - begin) / step), curve.length - 1);
  const first = Math.max(0, last - Math.round(SECONDS / step) + 1);
  return curve.slice(first, last + 1);
}

/** `points` from left to right, null for a gap; `index`: whose colour. */
export function Spark({ points, index }) {
  const known = points.filter((one) => one != null);
  if (known.length < 2) return null;
  const most = Math.max(...known) || 1;
  const x = (i) => ((i / (points.length - 1)) * WIDTH).toFixed(1);
  const y = (one) => (HEIGHT - 1 - (one / most) * (HEIGHT - 3)).toFixed(1);
  const runs = runsOf(points);
  const line = ([from, values]) =>
    values.map((one, i) => `${i ? "L" : "M"}${x(from + i)} ${y(one)}`).join("");
  const area = (run) => {
    const [from, values] = run;
    return `${line(run)}L${x(from + values.length - 1)} ${HEIGHT}L${x(from)} ${HEIGHT}Z`;
  };
  return html`<svg class=${`spark profile-line-${index % 4}`} viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
    width=${WIDTH} height=${HEIGHT} aria-hidden="true">
    <path class="area" d=${runs.map(area).join("")} /><path d=${runs.map(line).join("")} /></svg>`;
}

/** Parts without a gap: where each begins, and its values. */
function runsOf(points) {
  const runs = [];
  points.forEach((one, i) => {
    if (one == null) return;
    if (!i || points[i - 1] == null) runs.push([i, []]);
    runs.at(-1)[1].push(one);
  });
  return runs;
}
