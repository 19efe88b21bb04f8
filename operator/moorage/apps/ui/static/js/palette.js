// Find anything: pods, nodes, profiles, views and commands.
import { html, useEffect, useRef, useState } from "./html.js";
import { useKeys } from "./keys.js";
import { go, href, useRoute } from "./router.js";
import { useDocument } from "./source.js";
import { copy } from "./parts/command.js";
import { Dialog } from "./parts/dialog.js";

let show = () => {};
export const openPalette = () => show(true);

const VIEWS = [
  ["Overview", ""],
  ["Nodes", "nodes"],
  ["Queue", "queue"],
  ["Profiles", "profiles"],
  ["Recordings", "recordings"],
  ["Compare", "compare"],
];
const COMMANDS = [
  "moorage status",
  "moorage queue",
  "moorage explain pod NAMESPACE/NAME",
  "moorage fit -f FILE",
  "moorage bundle",
];

/** What fits the text: [{kind, text, under, act}]. */
function entriesOf(found, text) {
  const fits = (word) => word.toLowerCase().includes(text.toLowerCase());
  const to = (path, query) => () => go(href(path, query));
  return [
    ...(found?.profiles || []).map((name) => ({
      kind: "Profile",
      text: name,
      act: to(`profiles/${name}`),
    })),
    ...(found?.pods || []).map(({ pod, node }) => ({
      kind: "Pod",
      text: pod,
      under: node || "waits",
      act: to(`pods/${pod}`),
    })),
    ...(found?.nodes || []).map((name) => ({ kind: "Node", text: name, act: to(`nodes/${name}`) })),
    ...VIEWS.filter(([word]) => fits(word)).map(([word, path]) => ({
      kind: "View",
      text: word,
      act: to(path),
    })),
    ...COMMANDS.filter(fits).map((word) => ({
      kind: "Copy",
      text: word,
      act: () => copy(word, "The command"),
    })),
  ];
}

/** The dialog; `/` opens it. */
export function Palette() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    show = setOpen;
  }, []);
  useKeys({ "/": () => setOpen(true) });
  return open && html`<${Search} onClose=${() => setOpen(false)} />`;
}

function Search({ onClose }) {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  const [at, setAt] = useState(0);
  const route = useRoute();
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text.trim()), 120);
    return () => clearTimeout(timer);
  }, [text]);
  const { doc } = useDocument(asked ? "find" : null, { text: asked, at: route.query.at });
  const entries = entriesOf(asked && doc, text.trim()).slice(0, 30);
  const act = (entry) => {
    onClose();
    entry.act();
  };
  const press = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((entries.length + at + step) % (entries.length || 1));
    else if (event.key === "Enter" && entries[at]) act(entries[at]);
    else return;
    event.preventDefault();
  };
  return html`<${Dialog} class="palette" aria-label="Find" onClose=${onClose}>
    <input type="text" role="combobox" aria-expanded="true" aria-controls="found"
      aria-label="Find a pod, node, profile or command" autocomplete="off" spellcheck=${false}
      aria-activedescendant=${entries[at] ? `found-${at}` : undefined}
        placeholder="Find a pod, node, profile or command" autofocus
      value=${text} onInput=${(event) => {
        setText(event.currentTarget.value);
        setAt(0);
      }}
        onKeyDown=${press} />
    <${Entries} entries=${entries} at=${at} act=${act} />
    ${!entries.length && html`<p class="soft padded">Nothing is called that.</p>`}
  </>`;
}

function Entries({ entries, at, act }) {
  const list = useRef(null);
  useEffect(() => list.current?.children[at]?.scrollIntoView({ block: "nearest" }), [at]);
  return html`<ul id="found" role="listbox" aria-label="Found" ref=${list}>
    ${entries.map(
      (entry, i) => html`<li key=${`${entry.kind} ${entry.text}`} id=${`found-${i}`}
    role="option"
    aria-selected=${i === at} onClick=${() => act(entry)}><span class="kind tiny soft">
      ${entry.kind}</span><span class="found-name">${entry.text}</span>${
        entry.under &&
        html`<span
      class="soft small">${entry.under}</span>`
      }</li>`,
    )}</ul>`;
}
