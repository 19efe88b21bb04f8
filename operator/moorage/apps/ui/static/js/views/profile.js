// One profile: its revisions, what differs between two of them, its trial, and the way back.
import { html } from "../html.js";
import { TrialBar } from "../parts/bars.js";
import { Command } from "../parts/command.js";
import { Chip, Head, Lead } from "../parts/lead.js";
import { otherNode, sameNode, VERDICTS } from "../parts/profile_state.js";
import { DiffRows, RevisionList } from "../parts/revisions.js";
import { Rows } from "../parts/rows.js";
import { Failed, Shown } from "../parts/states.js";
import { go, href, withQuery } from "../router.js";
import { Path, Shell } from "../shell.js";
import { useDocument } from "../source.js";
import { counted, dayAndTime } from "../words.js";

export function Profile(shared) {
  const { route, has } = shared;
  const [name] = route.parts;
  const entry = useDocument("history", { profile: name });
  const trial = useDocument(has("trial") ? "trial" : null, { profile: name }).doc;
  return html`<${Shell} view="profiles" ...${shared} title=${html`<${Path} before=${[
    html`<a
    href=${href("profiles")}>Profiles</a>`,
  ]}>${name}<//>`}>
    <${Shown} entry=${entry} what="the revisions">${(history) => html`<${Content} name=${name}
      history=${history} trial=${trial} query=${route.query} />`}<//><//>`;
}

/** Which two are compared: those of the address, else the one that decides and the one on trial, or the one before. */
export function pairOf(revisions, query) {
  const names = revisions.map((one) => one.revision);
  if (names.includes(query.a) && names.includes(query.b)) return [query.a, query.b];
  const active = revisions.find((one) => one.state.startsWith("active"));
  const trial = revisions.find((one) => one.state === "trial");
  if (active && trial) return [active.revision, trial.revision];
  const before = revisions[revisions.indexOf(active) + 1];
  return active && before ? [before.revision, active.revision] : [];
}

function Content({ name, history, trial, query }) {
  const [a, b] = pairOf(history.revisions, query);
  const difference = useDocument(a ? "diff" : null, { a: `${name}@${a}`, b: `${name}@${b}` });
  const choose = (revision) => {
    if (revision !== b && revision !== a)
      go(withQuery({ a: b || a || revision, b: revision }), { replace: true });
  };
  return html`<div class="with-side left profile-page"><section><${Head} title="Revisions"
    side=${counted(history.revisions.length, "revision")} />
      <${RevisionList} revisions=${history.revisions} a=${a} b=${b} onChoose=${choose} />
      <p class="small quiet hints">Choose two to compare. The same content has the same name, wherever it comes from.</p>
        </section>
    <div class="stack"><${Lead} sentence=${difference.doc?.answer || history.answer}
      under=${difference.doc && "What is in effect, whichever object says it: preset, profile or PluginConfig."} />
      ${difference.error && html`<${Failed} error=${difference.error} />`}
      ${difference.doc && html`<${DiffRows} difference=${difference.doc} />`}
      <div class="columns pair"><${Trial} trial=${trial} name=${name} />
        <${GoBack} name=${name} revisions=${history.revisions} /></div>
      <${Pairs} trial=${trial} /><${Elsewhere} trial=${trial} />
      <${Changes} history=${history} /></div></div>`;
}

function Trial({ trial, name }) {
  const found = trial?.trial;
  if (!found) {
    return html`<section class="card padded"><h2 class="title">The trial</h2>
      <p class="soft">No trial runs. Start one in the profile: spec.rollout.strategy: Canary</p>
      </section>`;
  }
  const [state, word] = VERDICTS[found.verdict] || ["quiet", found.verdict];
  const same = sameNode(found);
  const other = otherNode(found);
  return html`<section class="card padded"><div class="top-line"><h2 class="title">The trial</h2>
    <${Chip} state=${state}>${word}<//></div>
    <${TrialBar} same=${same} other=${other} toGo=${trial.toGo} />
    <p class="trial-words"><span><b>${same}</b> same node</span><span><b>${other}
      </b> other node</span><span><b>${found.regressions}
      </b> ${found.regressions === 1 ? "regression" : "regressions"}
      </span>${trial.toGo ? html`<span class="end">about ${trial.toGo} to go</span>` : null}</p>
    <p class="soft">${trial.answer}</p><${Command} text=${`moorage trial ${name}`} /></section>`;
}

function GoBack({ name, revisions }) {
  const active = revisions.findIndex((one) => one.state.startsWith("active"));
  const before = revisions.slice(active + 1).find((one) => one.state === "-");
  return html`<section class="card padded"><h2 class="title">Go back</h2>
    ${
      before
        ? html`<p class="soft">This page only reads. In a terminal:</p>
      <${Command} text=${`moorage rollback ${name} --to ${before.revision}`} />
      <p class="small quiet">It says what will change, and what a GitOps tool will do about it, before it writes.</p>`
        : html`<p class="soft">No revision before this one is kept.</p>`
    }</section>`;
}

function Changes({ history }) {
  return html`<section><${Head} title="What each changed" side="from what decided before" />
    <${Rows} label="Changes"
    rows=${history.revisions.map((one) => ({ ...one, key: `${one.revision} ${one.number}` }))}
    columns=${[
      {
        key: "revision",
        title: "Revision",
        phone: "name",
        cell: (row) => html`<code>${row.revision}
      </code>`,
      },
      {
        key: "since",
        title: "Since",
        phone: "end",
        cell: (row) => html`<span class="soft nowrap">
      ${dayAndTime(row.since)}</span>`,
      },
      { key: "by", title: "By", cell: (row) => row.changedBy || "–" },
      {
        key: "changes",
        title: "Change",
        phone: "under",
        cell: (row) => html`<span class="soft">
      ${row.changes.join(", ")}</span>`,
      },
    ]} /></section>`;
}

function Pairs({ trial }) {
  if (!trial?.pairs.length) return null;
  return html`<section><${Head} title="Pods that regressed"
    side=${counted(trial.pairs.length, "pod")} /><${Rows} label="Pods that regressed"
    rows=${trial.pairs} columns=${[
      {
        key: "pod",
        title: "Pod",
        phone: "name",
        cell: (row) => html`<a class="name" data-row
      href=${href(`pods/${row.pod}`)}>${row.pod}</a>`,
      },
      {
        key: "answers",
        title: "Answers",
        phone: "under",
        cell: (row) =>
          Object.entries(row)
            .filter(([key]) => key !== "pod")
            .map(([key, value]) => `${key} ${value}`)
            .join("; "),
      },
    ]} /></section>`;
}

function Elsewhere({ trial }) {
  if (!trial?.elsewhere.length) return null;
  const { trial: found, elsewhere } = trial;
  const node = (key) => (row) => html`<a href=${href(`nodes/${row[key]}`)}>${row[key]}</a>`;
  return html`<section><${Head} title="Pods that went elsewhere"
    side=${`the last ${elsewhere.length} of ${otherNode(found)}`} />
    <${Rows} label="Pods that went elsewhere"
    rows=${[...elsewhere].reverse().map((one) => ({ ...one, key: one.uid }))} columns=${[
      {
        key: "pod",
        title: "Pod",
        phone: "name",
        cell: (row) => html`<a class="name" data-row href=${href(`pods/${row.pod}`)}>${row.pod}</a>`,
      },
      {
        key: "node",
        title: html`<code>${found.against}</code>`,
        phone: "end",
        cell: node("node"),
      },
      {
        key: "tried",
        title: html`<code>${found.revision}</code>`,
        phone: "under",
        cell: (row) => html`<span class="only-phone">→ </span>${node("triedNode")(row)}`,
      },
    ]} /></section>`;
}
