// Colours of amounts: nine stops, interpolated to 64 steps. More is always further from the ground.

export const STEPS = 64;
export const STOPS = {
  amount: {
    light: "edf4f6 dceaef c3dfe7 a1ccd9 7ab6c8 519db5 2f83a0 1a6c8a 0e5875".split(" "),
    dark: "1b252d 1b323d 1c4250 1e5466 236a7f 2e8199 4499af 66b1c3 8fcbd8".split(" "),
  },
  fragmentation: {
    light: "f6f1e7 f3e4c6 eed19a e5b86a d69b42 bf7e29 a06319 7d4a10 5b350b".split(" "),
    dark: "211f1b 332a1d 4d3b20 6c5123 8f6a28 b38632 d2a24a e9be72 f8daa4".split(" "),
  },
};

const channels = (hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** The 64 colours of a scale in a theme. @returns {string[]} */
export function colours(scale, theme) {
  const stops = STOPS[scale][theme].map(channels);
  return Array.from({ length: STEPS }, (_, step) => {
    const place = (step / (STEPS - 1)) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    const mixed = stops[low].map((from, i) =>
      Math.round(from + (stops[low + 1][i] - from) * (place - low)),
    );
    return `rgb(${mixed.join(" ")})`;
  });
}

/** The step of a share of 0 to 1. */
export const stepOf = (share) => Math.max(0, Math.min(STEPS - 1, Math.floor(share * STEPS)));
