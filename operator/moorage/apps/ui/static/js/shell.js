// The frame of every view: rail, tabs, top, ribbon. It knows where everything is, and nothing else.
import { classes, html } from "./html.js";
import { Anchor, Icon, Shape } from "./icons.js";
import { href } from "./router.js";
import { age, clock, count, moment } from "./words.js";
import { Note } from "./parts/lead.js";
import { Failed } from "./parts/states.js";
import { Ribbon } from "./ribbon.js";
import { RETRY_MS, useFeed } from "./source.js";
import { openPalette } from "./palette.js";
import { openHelp } from "./help.js";
import { toggleTheme } from "./theme.js";

export const VIEWS = [
  ["overview", "Overview", ""],
  ["nodes", "Nodes", "nodes"],
  ["queue", "Queue", "queue"],
  ["profiles", "Profiles", "profiles"],
  ["recordings", "Recordings", "recordings"],
  ["compare", "Compare", "compare"],
];

/**
 * @param {{view: string, title: any, wide?: boolean, tools?: any, overview: any, status: any,
 *   statusError?: any, timeline: any, at?: string, children: any}} props
 */
export function Shell({ view, title, tools, wide, overview, status, statusError, timeline, at, children }) {
  return html`<a class="skip" href="#main">Skip to the content</a>
    <${Rail} place=${view} overview=${overview} status=${status} />
    <div class="frame"><main id="main" tabindex="-1" class=${classes("content", wide && "wide")}>
      <header class="top"><h1>${title}</h1>${tools}<div class="end"><${Find} /></div></header>
      <${Silence} overview=${overview} at=${at} />
      ${status && statusError && html`<${Failed} error=${statusError} since=${status.at} />`}
      ${children}
    </main></div>
    <${Ribbon} timeline=${timeline} overview=${overview} at=${at} />
    <${Tabs} place=${view} />`;
}

/** The first part of a title, and what it is of: `Queue / ml / eval-vision-0`. */
export const Path = ({ before, children }) =>
  html`<span class="before">${before.map((part, i) => html`${i > 0 && " / "}${part}`)} / </span>
    ${children}`;

function Find() {
  return html`<button type="button" class="find" onClick=${openPalette}
    aria-label="Find a pod, node or profile">
    <${Icon} name="find" /><span class="label">Find a pod, node or profile</span>
      <kbd aria-hidden="true">/</kbd></button>`;
}

function Rail({ place, overview, status }) {
  const numbers = {
    nodes: overview?.nodes,
    queue: overview?.waiting,
    profiles: status?.profiles.length,
  };
  return html`<aside class="rail" aria-label="Moorage">
    <a class="brand" href=${href("")}><${Anchor} /><span class="word">Moorage</span></a>
    <div class="cluster"><b>${overview?.cluster || "…"}</b>
      <p class="tiny soft">
      ${overview?.version ? `Kubernetes ${overview.version.replace(/^v/, "")}` : " "}</p></div>
    <nav aria-label="Views">
      ${VIEWS.map(
        ([view, word, path]) => html`${
          view === "recordings" &&
          html`<p class="group"
      key="group">Look back, try out</p>`
        }
      <a key=${view} href=${href(path)} aria-current=${place === view ? "page" : undefined}
        title=${word}><${Icon} name=${view} /><span class="label">${word}</span>
        ${numbers[view] != null && html`<span class="count">${count(numbers[view])}</span>`}</a>`,
      )}
          </nav>
    <div class="foot">${(status?.replicas || []).map(
      (one) => html`<${Replica} key=${one.name}
      replica=${one} now=${overview?.at} />`,
    )}
      <div class="last tiny soft"><span>Read-only</span><button type="button" class="link"
        onClick=${openHelp}>Keys <kbd>?</kbd></button>
        <button type="button" class="icon-button" aria-label="Light or dark"
          onClick=${toggleTheme}><${Icon} name="theme" /></button></div></div>
  </aside>`;
}

function Replica({ replica, now }) {
  const does = { Leader: "leads", Observer: "observes" }[replica.role];
  const since =
    does && replica.since && now ? `, ${age((moment(now) - moment(replica.since)) / 1000)}` : "";
  const words = `${does || "stands by"}${since}`;
  return html`<p class="replica" title=${`${replica.name} ${words}`}>
    <${Shape} state=${does ? "ok" : "past"} size=${10} />
    <b class="name">${replica.name.split("_")[0]}</b> <span class="soft">${words}</span></p>`;
}

function Tabs({ place }) {
  return html`<nav class="tabs" aria-label="Views, on phones">
    ${VIEWS.slice(0, 5).map(
      ([view, word, path]) => html`<a key=${view} href=${href(path)}
    aria-current=${place === view ? "page" : undefined}><${Icon} name=${view} /><span>${word}
      </span></a>`,
    )}</nav>`;
}

/** The stream is broken: since when what is shown is old. */
function Silence({ overview, at }) {
  const feed = useFeed();
  if (feed.state !== "silent" || at) return null;
  return html`<${Note} severity="warn">
    <b>No answer since ${clock(feed.since.getTime() / 1000)}.</b> All of this is from ${clock(overview?.at)}. It is tried again every ${RETRY_MS / 1000} s.<//>`;
}
