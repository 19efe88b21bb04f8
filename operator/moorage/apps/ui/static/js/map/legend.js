// The legend is the histogram: brush it, and cells outside fade.
import { html, useMemo, useRef } from "../html.js";
import { useTheme } from "../theme.js";
import { count } from "../words.js";
import { colours, STEPS } from "./scales.js";
import { histogram, sharesOf } from "./shares.js";

const BINS = 20;
const HEIGHT = 64;
const TITLES = {
  cpu: ["CPU requested", "Share of what each node can give"],
  memory: ["Memory requested", "Share of what each node can give"],
  gpu: ["GPUs requested", "Share of what each node can give"],
  pods: ["Pods", "Share of the pods a node may have"],
  fragmentation: ["Fragmentation", "Share of a node’s free room that pods as they are cannot use"],
};

/** @param {{nodes: any, by: string, brush: [number, number]|null, onBrush: (brush: [number, number]|null) => void}} props */
export function Legend({ nodes, by, brush, onBrush }) {
  const theme = useTheme();
  const shares = useMemo(() => sharesOf(nodes, by), [nodes, by]);
  const bins = useMemo(
    () =>
      histogram(
        shares.filter((_, i) => nodes.pods[i] && !nodes.flags[i]),
        BINS,
      ),
    [shares, nodes],
  );
  const palette = useMemo(
    () => colours(by === "fragmentation" ? "fragmentation" : "amount", theme),
    [by, theme],
  );
  const [title, under] = TITLES[by] || TITLES.cpu;
  return html`<section class="card padded legend-card" aria-labelledby="legend">
    <h2 class="title" id="legend">${title}</h2>
    <p class="tiny soft">${under}</p>
    <${Bars} bins=${bins} palette=${palette} brush=${brush} onBrush=${onBrush} />
    <p class="axis tiny soft"><span>0 %</span><span>50</span><span>100 %</span></p>
    <${Ends} brush=${brush} onBrush=${onBrush} />
    <ul class="small">
      <li><i class="cell empty"></i>Empty<span class="number">
        ${count(nodes.pods.filter((number) => number === 0).length)}</span></li>
      <li><i class="cell out"></i>Cordoned, tainted, not ready<span class="number">
        ${count(nodes.flags.filter(Boolean).length)}</span></li>
    </ul></section>`;
}

function Bars({ bins, palette, brush, onBrush }) {
  const from = useRef(null);
  const most = Math.max(1, ...bins);
  const place = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
  };
  const down = (event) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    from.current = place(event);
  };
  const move = (event) => {
    if (from.current === null) return;
    const [low, high] = [from.current, place(event)].sort((a, b) => a - b);
    if (high - low > 0.01) onBrush([Math.floor(low * BINS) / BINS, Math.ceil(high * BINS) / BINS]);
  };
  const up = (event) => {
    if (from.current !== null && Math.abs(place(event) - from.current) <= 0.01) onBrush(null);
    from.current = null;
  };
  const inside = (i) => !brush || ((i + 0.5) / BINS >= brush[0] && (i + 0.5) / BINS <= brush[1]);
  return html`<svg class="histogram" viewBox=${`0 0 ${BINS * 12} ${HEIGHT}`}
    preserveAspectRatio="none" aria-hidden="true"
    onPointerDown=${down} onPointerMove=${move} onPointerUp=${up}
      onPointerCancel=${() => {
        from.current = null;
      }}>
    <rect width=${BINS * 12} height=${HEIGHT} fill="transparent" />
    ${bins.map((number, i) => {
      const height = number ? Math.max(1.5, Math.sqrt(number / most) * HEIGHT) : 0;
      return html`<rect key=${i} x=${i * 12 + 0.5} width="11" y=${HEIGHT - height} height=${height}
        fill=${palette[Math.round(((i + 0.5) / BINS) * (STEPS - 1))]}
          opacity=${inside(i) ? 1 : 0.2} />`;
    })}
    <path class="base" d=${`M0 ${HEIGHT}H${BINS * 12}`} /></svg>`;
}

/** The brush for keys and screen readers: its two ends, seen when they have the focus. */
function Ends({ brush, onBrush }) {
  const [low, high] = brush || [0, 1];
  const set = (next) => onBrush(next[0] <= 0 && next[1] >= 1 ? null : next);
  const end = (label, value, change) => html`<label class="brush-end tiny"><span>${label}</span>
    <input type="range" min="0" max="100" step="5"
    value=${Math.round(value * 100)} aria-valuetext=${`${Math.round(value * 100)} %`}
      onInput=${(event) => change(Number(event.currentTarget.value) / 100)} /></label>`;
  return html`<div class="brush-ends">
    ${end("Show from", low, (value) => set([Math.min(value, high), high]))}
    ${end("to", high, (value) => set([low, Math.max(value, low)]))}</div>`;
}
