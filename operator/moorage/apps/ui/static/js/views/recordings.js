// Time: four curves under one cursor, the nodes at that moment, decisions from here, what happened around.
import { html, useEffect, useMemo, useRef, useState } from "../html.js";
import { Shape, Swatch } from "../icons.js";
import { useKeys } from "../keys.js";
import { NodeMap } from "../map/map.js";
import { MARKS, momentOf, setMoment, valueAt } from "../moments.js";
import { Curve } from "../parts/curves.js";
import { Head, Lead } from "../parts/lead.js";
import { profileIndex } from "../parts/profile_state.js";
import { Rows } from "../parts/rows.js";
import { Empty, Loading } from "../parts/states.js";
import { href } from "../router.js";
import { Path, Shell } from "../shell.js";
import { useDocument } from "../source.js";
import { age, clock, count, day, decimal, percent, rfc3339 } from "../words.js";

/** Recorded seconds for each that passes while playing, and how often the page moves on. */
const SPEED = 20;
const STEP_MS = 1000;

export function Recordings(shared) {
  const { timeline, has } = shared;
  const title = timeline
    ? html`<${Path} before=${["Recordings"]}>
    ${day(timeline.begin)}, ${clock(timeline.begin, { seconds: false })} – ${clock(timeline.end, { seconds: false })}
    <//>`
    : "Recordings";
  const [playing, play] = usePlay(shared);
  const tools =
    timeline &&
    html`<button type="button" class="button" aria-pressed=${playing}
    onClick=${() => play(!playing)}>${playing ? "❚❚ Stop" : `▶ Play × ${SPEED}`}</button>
    ${timeline.worlds.length > 0 && html`<a class="button" href=${href("compare")}>Compare</a>`}`;
  return html`<${Shell} view="recordings" title=${title} tools=${tools} wide ...${shared}>
    ${
      timeline
        ? html`<${Content} ...${shared} />`
        : has("timeline")
          ? html`<${Loading}
      what="the recording" />`
          : html`<${Empty} sentence="No recording."
        command="moorage record -o FILE">Switch it on with recording.directory in the operator’s configuration, or record from outside:<//>`
    }
        <//>`;
}

function usePlay({ timeline, at }) {
  const [playing, play] = useState(false);
  const latest = useRef();
  latest.current = { timeline, at };
  useKeys({ " ": () => timeline && play(!playing) });
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setInterval(() => {
      const { timeline: line, at: now } = latest.current;
      const next = (momentOf(now) ?? line.begin) + (SPEED * STEP_MS) / 1000;
      if (next >= line.end) play(false);
      else setMoment(next, { replace: true });
    }, STEP_MS);
    return () => clearInterval(timer);
  }, [playing]);
  return [playing, play];
}

const COLOURS = {
  swap: "ok",
  trial: "trial",
  refused: "bad",
  leader: "text-3",
  gap: "warn",
  burst: "warn",
};

function Content({ timeline, at, has, status }) {
  const now = momentOf(at) ?? timeline.end;
  const nodes = useDocument(has("nodes") ? "nodes" : null, { at }).doc;
  const decisions = useDocument(has("decisions") ? "decisions" : null, {
    at: rfc3339(now),
    limit: 12,
  }).doc;
  useKeys({
    ",": () => stepTo(decisions && timeBefore(decisions.before, now, timeline.begin)),
    ".": () => stepTo(decisions?.decisions.find((one) => Math.ceil(one.time) > now)?.time),
  });
  return html`<${Lead} sentence=${sentenceAt(timeline, now, at)} under=${timeline.answer} />
    <div class="with-side time-page"><div class="stack"><${Curves} timeline=${timeline}
      now=${now} />
      <section><${Head} title="Decisions from here"
        side=${html`<kbd>,</kbd> <kbd>.</kbd> one decision back, on`} />
        <${Decisions} decisions=${decisions} status=${status} /></section></div>
    <div class="stack"><section><${Head} title="Nodes at that moment" side="CPU requested" />
      ${
        nodes
          ? html`<${NodeMap} nodes=${nodes} by="cpu" group="zone" bare
      label="Nodes at that moment" />`
          : html`<div class="well map-place"></div>`
      }</section>
      <${Around} timeline=${timeline} now=${now} /></div></div>`;
}

/** Of the last decision of an earlier second, as addresses hold seconds. */
function timeBefore(before, now, begin) {
  const earlier = before.findLast((one) => Math.ceil(one.time) < now);
  return earlier?.time ?? (before.length ? Math.max(begin, now - 1) : undefined);
}

const stepTo = (time) => time !== undefined && setMoment(time, { replace: true });

/** The moment, and the last mark before it. */
function sentenceAt(timeline, now, at) {
  const last = timeline.marks.filter((mark) => mark.time <= now).at(-1);
  const since =
    last && now - last.time < 600 ? `, ${age(now - last.time)} after: ${last.text}` : "";
  return `${at ? clock(now) : `Now, ${clock(now)}`}${since}`;
}

function Curves({ timeline, now }) {
  const times = useMemo(
    () => timeline.placed.map((_, i) => timeline.begin + i * timeline.step),
    [timeline],
  );
  const marks = useMemo(
    () => [
      ...timeline.marks.map((mark) => ({
        time: mark.time,
        colour: COLOURS[mark.what] || "text-3",
      })),
      { time: now, colour: "text", whole: true },
    ],
    [timeline, now],
  );
  const most = (curve) => Math.max(...timeline[curve].filter((one) => one !== null), 0);
  const rows = [
    ["placed", "Placed / s", "accent", (value) => decimal(value)],
    ["waiting", "Waiting", "warn", count],
    ["cpu", "CPU requested", "ok", (value) => percent(value)],
    [
      "p99",
      "p99 to bound",
      "profile-3",
      (value) => (value == null ? "–" : `${decimal(value, 2)} s`),
    ],
  ];
  return html`<div class="curves">${rows.map(
    ([curve, title, colour, words], i) => html`<${Curve}
    key=${curve} title=${title} colour=${colour} times=${times} values=${timeline[curve]}
    marks=${marks}
    value=${words(valueAt(timeline, curve, now))} most=${words(most(curve))}
      last=${i === rows.length - 1} onPick=${(time) => setMoment(time, { replace: true })} />`,
  )}
      </div>`;
}

function Decisions({ decisions, status }) {
  if (!decisions) return html`<${Loading} rows=${5} what="decisions" />`;
  const index = profileIndex(status);
  const rows = [...decisions.before.slice(-2), ...decisions.decisions].map((one, i) => ({
    ...one,
    key: `${one.time} ${one.pod}`,
    here: i === Math.min(2, decisions.before.length),
  }));
  if (!rows.length)
    return html`<div class="card padded"><p class="soft">No decision around this moment.</p></div>`;
  return html`<${Rows} label="Decisions" rows=${rows} rowClass=${(row) => (row.here ? "here" : "")}
    columns=${[
      {
        key: "time",
        title: "Time",
        phone: "end",
        cell: (row) => html`<span class="number">
      ${clock(row.time, { millis: true })}</span>`,
      },
      {
        key: "pod",
        title: "Pod",
        phone: "name",
        cell: (row) => html`<a class="name cut" data-row
      href=${href(`pods/${row.pod}`)}>${row.pod}</a>`,
      },
      {
        key: "profile",
        title: "Profile",
        cell: (row) => html`<span class="with-swatch">
      <${Swatch} index=${index(row.profile)} />${row.profile}</span>`,
      },
      {
        key: "node",
        title: "Node",
        phone: "under",
        cell: (row) =>
          row.node ||
          html`<span
      class="is-warn">no node: ${row.message}</span>`,
      },
      { key: "score", title: "Score", number: true, cell: (row) => count(row.score) },
    ]} />`;
}

function Around({ timeline, now }) {
  const marks = [...timeline.marks, { time: now, what: "here", text: "you are here" }].sort(
    (a, b) => a.time - b.time,
  );
  const here = marks.findIndex((mark) => mark.what === "here");
  return html`<section><${Head} title="Around this moment" /><div class="card padded">
    <ul class="happened">${marks.slice(Math.max(0, here - 4), here + 3).map(
      (mark) => html`<li
    key=${`${mark.time} ${mark.text}`}>
    <a class="soft number" href=${href("recordings", { at: rfc3339(mark.time) })}>
      ${clock(mark.time)}</a><${Shape} state=${MARKS[mark.what] || "quiet"} />
      <span class=${mark.what === "here" ? "soft" : ""}>${mark.text}</span></li>`,
    )}</ul></div>
      </section>`;
}
