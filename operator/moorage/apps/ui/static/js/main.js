// Where the page begins: which view the address asks for, and what all views share.
import { html, render, useEffect, useErrorBoundary } from "./html.js";
import { Help } from "./help.js";
import { listenForKeys, useKeys } from "./keys.js";
import { copy } from "./parts/command.js";
import { moveRow } from "./parts/rows.js";
import { Failed, Loading } from "./parts/states.js";
import { Palette } from "./palette.js";
import { followLinks, go, href, useRoute } from "./router.js";
import { Shell, VIEWS } from "./shell.js";
import { follow, useDocument } from "./source.js";
import { toggleTheme } from "./theme.js";
import { Toast } from "./toast.js";
import { Compare } from "./views/compare.js";
import { Node } from "./views/node.js";
import { Nodes } from "./views/nodes.js";
import { Overview } from "./views/overview.js";
import { Parts } from "./views/parts.js";
import { Pod } from "./views/pod.js";
import { Profile } from "./views/profile.js";
import { Profiles } from "./views/profiles.js";
import { Queue } from "./views/queue.js";
import { Recordings } from "./views/recordings.js";
import { Lost } from "./views/lost.js";

const ALONE = {
  overview: Overview,
  nodes: Nodes,
  queue: Queue,
  profiles: Profiles,
  recordings: Recordings,
  compare: Compare,
  parts: Parts,
};
/** Views of one object: how many parts its name has, and the view. */
const OF_ONE = { nodes: [1, Node], pods: [2, Pod], profiles: [1, Profile] };

function viewOf({ view, parts }) {
  if (!parts.length) return ALONE[view] || Lost;
  const [length, One] = OF_ONE[view] || [0, Lost];
  return parts.length === length ? One : Lost;
}

function App() {
  const route = useRoute();
  const { at } = route.query;
  const overview = useDocument("overview", { at });
  const has = (name) => Boolean(overview.doc?.has.includes(name));
  const status = useDocument(has("status") ? "status" : null, { at });
  const timeline = useDocument(has("timeline") ? "timeline" : null);
  const shared = {
    route,
    at,
    has,
    status: status.doc,
    statusError: status.error,
    overview: overview.doc,
    refused: overview.error,
    timeline: timeline.doc || (overview.doc && !has("timeline") ? undefined : null),
  };
  useEffect(() => {
    if (overview.doc) follow(); // of a recording, too: its timeline and its worlds are being made
  }, [Boolean(overview.doc)]);
  usePageKeys();
  const View = overview.doc ? viewOf(route) : Opening;
  return html`<${View} key=${route.view} ...${shared} /><${Palette} /><${Help} /><${Toast} />`;
}

/** Until it is known what the page is of. */
function Opening(shared) {
  const title = VIEWS.find(([view]) => view === shared.route.view)?.[1] || "Moorage";
  return html`<${Shell} view=${shared.route.view} title=${title} ...${shared}>
    ${
      shared.refused
        ? html`<${Failed} error=${shared.refused} />`
        : html`<${Loading}
      what="the cluster" />`
    }<//>`;
}

function usePageKeys() {
  const to = Object.fromEntries(
    VIEWS.map(([view, , path]) => [`g ${view[0]}`, () => go(href(path))]),
  );
  useKeys({
    ...to,
    j: () => moveRow(1),
    k: () => moveRow(-1),
    d: toggleTheme,
    y: () => copy(location.href, "The link"),
    Escape: () => history.length > 1 && history.back(),
  });
}

/** A mistake in a view ends that view with its words, not the page. */
function Guarded() {
  const [error] = useErrorBoundary((found) => console.error(found));
  if (error) {
    return html`<${Shell} view="" title="Moorage">
      <${Failed}
      error=${{ status: 500, message: `The page has a mistake: ${error.message}. Load it again.` }} />
      <//>`;
  }
  return html`<${App} />`;
}

followLinks();
listenForKeys();
render(html`<${Guarded} />`, document.getElementById("page"));
