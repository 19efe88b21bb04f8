// The ribbon at the foot of every view: drag it, and the whole page shows that moment.
import { html, useRef, useState } from "./html.js";
import { Shape } from "./icons.js";
import { useKeys } from "./keys.js";
import { Choice } from "./parts/choices.js";
import { MARKS, momentOf, setMoment, spanOf } from "./moments.js";
import { useFeed } from "./source.js";
import { clock, day } from "./words.js";

const SPANS = [
  ["3600", "1 h"],
  ["21600", "6 h"],
  ["86400", "24 h"],
];
const WIDTH = 1000;
const HEIGHT = 44;

/** @param {{timeline: any, overview: any, at: string|undefined}} props */
export function Ribbon({ timeline, overview, at }) {
  const [chosen, choose] = useState("21600");
  const feed = useFeed();
  const live = Boolean(overview?.live);
  const shown = timeline && spanOf(timeline, Number(chosen), momentOf(at));
  useKeys({
    l: () => live && at && setMoment(null),
    "[": () => shown && jump(timeline, momentOf(at) ?? timeline.end, -1),
    "]": () => shown && jump(timeline, momentOf(at) ?? timeline.end, 1),
  });
  return html`<section class=${`ribbon ${at ? "past" : ""}`} aria-label="Time">
    <${When} at=${at} live=${live} feed=${feed} overview=${overview} />
    ${
      shown
        ? html`<${Curve} timeline=${timeline} span=${shown} at=${at} live=${live} />`
        : html`<p
      class="quiet small curve-place">
      ${timeline === null ? "" : "No recording: the page shows the present."}</p>`
    }
    <div class="spans">${
      timeline &&
      html`<${Choice} label="Span"
      options=${SPANS.filter(([seconds]) => Number(seconds) === 3600 || timeline.end - timeline.begin > Number(seconds) / 4)}
      value=${chosen} onChoose=${choose} />`
    }
      ${
        at &&
        live &&
        html`<button type="button" class="go-live"
        onClick=${() => setMoment(null)}>Go live</button>`
      }</div>
  </section>`;
}

function When({ at, live, feed, overview }) {
  const time = at || overview?.at;
  const silent = !at && live && feed.state === "silent";
  const [state, word] =
    at || !live
      ? ["wait", "Recorded"]
      : silent
        ? ["warn", `Stands at ${clock(time)}`]
        : ["ok", "Live"];
  return html`<div class="when"><p class="time">${clock(time)}</p>
    <p class="tiny"><${Shape} state=${state} size=${9} />
      <span class=${state === "ok" ? "is-ok" : "is-warn"}>${word}</span> <span class="soft day">
      ${day(time)}</span></p></div>`;
}

function jump(timeline, from, direction) {
  const times = timeline.marks.map((mark) => mark.time).sort((a, b) => (a - b) * direction);
  const next = times.find((time) => (time - from) * direction > 1);
  if (next !== undefined) setMoment(next);
}

/** The curve of pods that wait, its marks, and the moment that is shown, as a slider. */
function Curve({ timeline, span, at, live }) {
  const track = useRef(null);
  const dragged = useRef(false);
  const now = momentOf(at) ?? timeline.end;
  const x = (time) => ((time - span.begin) / (span.end - span.begin)) * WIDTH;
  const set = (time) => {
    const clamped = Math.max(timeline.begin, Math.min(timeline.end, time));
    setMoment(live && clamped >= timeline.end - 1 ? null : clamped, { replace: true });
  };
  const point = (event) => {
    const box = track.current.getBoundingClientRect();
    set(span.begin + ((event.clientX - box.left) / box.width) * (span.end - span.begin));
  };
  const keys = {
    ArrowLeft: -timeline.step,
    ArrowDown: -timeline.step,
    ArrowRight: timeline.step,
    ArrowUp: timeline.step,
    PageDown: -600,
    PageUp: 600,
  };
  const press = (event) => {
    const step = keys[event.key];
    const end = { Home: timeline.begin, End: timeline.end }[event.key];
    if (step === undefined && end === undefined) return;
    event.preventDefault();
    set(end ?? now + step);
  };
  const marks = timeline.marks.filter((mark) => mark.time >= span.begin && mark.time <= span.end);
  return html`<div class="curve" ref=${track} role="slider" tabindex="0" aria-label="Moment shown"
    aria-valuemin=${Math.round(timeline.begin)} aria-valuemax=${Math.round(timeline.end)}
      aria-valuenow=${Math.round(now)}
    aria-valuetext=${at ? `${clock(now)}, ${day(now)}, recorded` : live ? "live" : clock(now)}
    onKeyDown=${press}
      onPointerDown=${(event) => {
        dragged.current = true;
        event.currentTarget.setPointerCapture(event.pointerId);
        point(event);
      }}
    onPointerMove=${(event) => dragged.current && point(event)}
      onPointerUp=${() => {
        dragged.current = false;
      }}
      onPointerCancel=${() => {
        dragged.current = false;
      }}>
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <${Area} timeline=${timeline} span=${span} x=${x} /></svg>
    ${marks.map(
      (mark) => html`<span key=${`${mark.time} ${mark.what}`} class="mark"
      style=${{ "--at": `${x(mark.time) / 10}%` }} title=${`${clock(mark.time)} ${mark.text}`}>
      <${Shape} state=${MARKS[mark.what] || "quiet"} size=${10} /></span>`,
    )}
    <span class="now" style=${{ "--at": `${Math.max(0, Math.min(100, x(now) / 10))}%` }}></span>
  </div>`;
}

/** Gaps in the recording are gaps in the curve. */
function Area({ timeline, span, x }) {
  const { begin, step, waiting } = timeline;
  const from = Math.max(0, Math.floor((span.begin - begin) / step));
  const to = Math.min(waiting.length - 1, Math.ceil((span.end - begin) / step));
  const values = waiting.slice(from, to + 1);
  const most = Math.max(1, ...values.filter((value) => value !== null));
  const y = (value) => HEIGHT - 2 - (value / most) * (HEIGHT - 10);
  const runs = [];
  values.forEach((value, i) => {
    if (value === null) return;
    if (!runs.length || values[i - 1] === null || i === 0) runs.push([]);
    runs[runs.length - 1].push([x(begin + (from + i) * step).toFixed(1), y(value).toFixed(1)]);
  });
  return runs.map((run, i) => {
    const line = run.map(([px, py]) => `${px} ${py}`).join("L");
    return html`<path key=${`a${i}`} class="area"
      d=${`M${run[0][0]} ${HEIGHT}L${line}L${run[run.length - 1][0]} ${HEIGHT}Z`} />
      <path key=${`l${i}`} class="line" d=${`M${line}`} vector-effect="non-scaling-stroke" />`;
  });
}
