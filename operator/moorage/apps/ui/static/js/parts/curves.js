// Curves over time under one cursor, drawn by uPlot: one plot each, so that each has its own scale.
import uPlot from "../../vendor/uplot/uplot.js";
import { html, useEffect, useRef } from "../html.js";
import { theme, token, useTheme } from "../theme.js";

const HEIGHT = 96;
/** Seconds below which several ticks are of one minute. */
const SHORT = 600;

function options({ width, colour, begin, end, marks, last, onPick }) {
  const line = token("line");
  const font = "11px Inter, system-ui, sans-serif";
  const axis = { stroke: token("text-3"), font, grid: { show: false }, ticks: { show: false } };
  return {
    width,
    height: last ? HEIGHT + 26 : HEIGHT,
    legend: { show: false },
    tzDate: (time) => uPlot.tzDate(new Date(time * 1e3), "Etc/UTC"),
    cursor: {
      sync: { key: "time" },
      y: false,
      points: { show: false },
      drag: { x: false, y: false },
    },
    padding: [10, 14, last ? 0 : 6, 0],
    scales: {
      x: { time: true, range: [begin, end] },
      y: { range: (_, low, high) => [Math.min(0, low), high * 1.08 || 1] },
    },
    axes: [
      {
        ...axis,
        show: last,
        size: 26,
        values: (_, times) =>
          times.map((time) =>
            new Date(time * 1e3).toISOString().slice(11, end - begin < SHORT ? 19 : 16),
          ),
      },
      {
        ...axis,
        size: 0,
        side: 1,
        grid: { show: true, stroke: line, width: 1 },
        splits: (_, __, low, high) => [0, high / 2],
        values: () => ["", ""],
      },
    ],
    series: [
      {},
      {
        stroke: token(colour),
        width: 1.5,
        fill: `color-mix(in srgb, ${token(colour)} 12%, transparent)`,
        points: { show: false },
        spanGaps: false,
      },
    ],
    hooks: {
      draw: [(plot) => drawMarks(plot, marks)],
      ready: [
        (plot) =>
          plot.over.addEventListener(
            "click",
            () => plot.cursor.left >= 0 && onPick(plot.posToVal(plot.cursor.left, "x")),
          ),
      ],
    },
  };
}

/** Vertical lines: marks dashed, the moment that is shown whole. */
function drawMarks(plot, marks) {
  const { ctx, bbox } = plot;
  for (const { time, colour, whole } of marks()) {
    const x = plot.valToPos(time, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.save();
    ctx.strokeStyle = token(colour);
    ctx.lineWidth = (whole ? 2 : 1) * devicePixelRatio;
    ctx.setLineDash(whole ? [] : [3 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }
}

/**
 * One curve with its name and its value at the moment shown.
 * @param {{title: string, value: string, times: number[], values: (number|null)[], colour: string,
 *   marks: {time: number, colour: string, whole?: boolean}[], last?: boolean, onPick: (time: number) => void}} props
 */
export function Curve({ title, value, most, times, values, colour, marks, last, onPick }) {
  const place = useRef(null);
  const plot = useRef(null);
  const latest = useRef({});
  latest.current = { marks, onPick };
  const look = useTheme();
  useEffect(() => {
    const element = place.current;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(
        options({
          width: element.clientWidth,
          colour,
          begin: times[0],
          end: times[times.length - 1],
          last,
          marks: () => latest.current.marks,
          onPick: (time) => latest.current.onPick(time),
        }),
        [times, values],
        element,
      );
    };
    make();
    const observer = new ResizeObserver(() =>
      plot.current.setSize({ width: element.clientWidth, height: last ? HEIGHT + 26 : HEIGHT }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current.destroy();
      plot.current = null;
    };
  }, [times, values, look, last]);
  useEffect(() => plot.current?.redraw(false), [marks]);
  return html`<div class=${`curve-row ${last ? "last" : ""}`}><div><p class="small soft">${title}
    </p><p class="figure">${value}</p></div>
    <div class="curve-plot" ref=${place} role="img"
      aria-label=${`${title}: ${value} at the moment shown`}></div><span class="most tiny quiet">
      ${most}</span></div>`;
}
