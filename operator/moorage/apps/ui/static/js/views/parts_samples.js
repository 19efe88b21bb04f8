// What /ui/parts shows its components with.
export const DEPTH = { active: 41, backoff: 4, unschedulable: 9, gated: 120 };
export const NO_DEPTH = { active: 0, backoff: 0, unschedulable: 0, gated: 0 };
export const FIGURES = [
  { label: "Placed", value: "38.0 / s", under: "24 h: 31.2 / s" },
  { label: "Waiting", value: "196", under: "oldest 2 h 11 min" },
  { label: "CPU requested", value: "73.8 %", under: "of 108,160 cores" },
];
export const ROWS = [
  { key: "a", pod: "shop/checkout-7c9d5b8f64-k8wnd", number: 1 },
  { key: "b", pod: "ml/eval-vision-0", number: 12345 },
];
export const COLUMNS = [
  { key: "pod", title: "Pod", phone: "name", cell: (row) => row.pod },
  { key: "number", title: "Number", number: true, phone: "end", cell: (row) => row.number },
];
export const REFUSALS = {
  nodes: 5000,
  plugins: ["NodeUnschedulable", "TaintToleration", "NodeResourcesFit"],
  zones: { "gpu-a100-0117": "fra1-c" },
  groups: [
    {
      plugin: "NodeUnschedulable",
      reasons: ["node(s) were unschedulable"],
      nodes: 12,
      resolvable: true,
      nearest: [],
    },
    {
      plugin: "NodeResourcesFit",
      reasons: ["Insufficient nvidia.com/gpu"],
      nodes: 221,
      resolvable: true,
      nearest: [
        { node: "gpu-a100-0117", lacks: { "nvidia.com/gpu": "1" }, details: [], heldFor: [] },
      ],
    },
  ],
};
export const SCORES = {
  node: "general-1843",
  best: ["general-1843", "general-0406"],
  zones: { "general-1843": "fra1-a", "general-0406": "fra1-a", "general-2210": "fra1-b" },
  weights: { NodeAffinity: 2, NodeResourcesFit: 20 },
  scores: [
    { node: "general-1843", total: 2000, scores: { NodeAffinity: 120, NodeResourcesFit: 1880 } },
    { node: "general-0406", total: 2000, scores: { NodeAffinity: 120, NodeResourcesFit: 1880 } },
    { node: "general-2210", total: 1900, scores: { NodeAffinity: 0, NodeResourcesFit: 1900 } },
  ],
};
export const CHANGES = [
  {
    changes: [{ kind: "request", text: "nvidia.com/gpu 4 -> 3", effect: "" }],
    fits: 2,
    node: "gpu-a100-0117",
  },
  {
    changes: [
      { kind: "move a pod", text: "ml/notebook-ana-0", effect: "gpu-a100-0117 -> gpu-a100-0204" },
    ],
    fits: 1,
    node: "gpu-a100-0117",
  },
];
export const REVISIONS = [
  {
    revision: "3f9c1b2a",
    state: "trial",
    since: "2026-11-27T14:18:08Z",
    seconds: 840,
    changedBy: "kubectl",
    number: null,
    changes: [],
  },
  {
    revision: "9d02aa71",
    state: "active",
    since: "2026-11-24T09:12:08Z",
    seconds: 277200,
    changedBy: "kubectl",
    number: 4,
    changes: [],
  },
  {
    revision: "4b1a90f3",
    state: "rolled back",
    since: "2026-11-18T10:02:00Z",
    seconds: 240,
    changedBy: "argocd",
    number: 2,
    changes: [],
  },
  {
    revision: "0e88d1c6",
    state: "-",
    since: "2026-10-18T10:02:00Z",
    seconds: 2678400,
    changedBy: "argocd",
    number: 1,
    changes: [],
  },
];
export const DIFFERENCE = {
  a: "binpack@9d02aa71",
  b: "binpack@3f9c1b2a",
  same: 13,
  differences: [
    {
      setting: "weight of NodeResourcesFit",
      a: { value: "20", saidBy: "spec.weights" },
      b: { value: "30", saidBy: "spec.weights" },
    },
  ],
};
export const MEASURES = [
  {
    name: "nodes left empty",
    text: { a: "212", b: "498", difference: "+286", interval: "+251 .. +322" },
    difference: 286,
    interval: [251, 322],
    clear: true,
  },
  {
    name: "wait, p99",
    text: { a: "2.1 s", b: "2.4 s", difference: "+0.3", interval: "-0.1 .. +0.7" },
    difference: 0.3,
    interval: [-0.1, 0.7],
    clear: false,
  },
];
export const WINDOWS = {
  "nodes left empty": { A: [210, 214, 212, null, 213], B: [490, 500, 499, 502, 498] },
};
