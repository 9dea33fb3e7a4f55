// A linear layer of width by width under the roofs of an A100, by NVIDIA's data sheet.
import { brief } from "../machine/numbers.js";
import { show } from "./frame.js";

const PEAKS = { float32: 19.5e12, bfloat16: 312e12 }; // FLOP/s, dense; float32 without tensor cores
const BANDWIDTH = 1555e9; // bytes a second
const ITEMSIZE = { float32: 4, bfloat16: 2 };
const X = [0.1, 1e4]; // FLOPs per byte
const Y = [0.1, 1000]; // TFLOP/s

const batch = { name: "rows", label: "Rows in the batch", min: 0, max: 15, step: 1, base: 2 };
const controls = [
  batch,
  { name: "width", label: "Width of the layer", min: 5, max: 14, step: 1, base: 2 },
  { name: "dtype", label: "Precision", options: { float32: "float32", bfloat16: "bfloat16" } },
  { label: "The layer", area: "roofs", x: batch, at: (state, { intensity, rate }) => [intensity, rate / 1e12] },
];

function model({ rows, width, dtype }) {
  const flops = 2 * rows * width ** 2;
  const bytes = ITEMSIZE[dtype] * (2 * rows * width + width ** 2); // input, result, weight
  const peak = PEAKS[dtype];
  const [intensity, ridge] = [flops / bytes, peak / BANDWIDTH];
  const rate = Math.min(peak, intensity * BANDWIDTH);
  return { flops, bytes, intensity, ridge, rate, peak, seconds: flops / rate, bound: intensity < ridge ? "memory" : "compute" };
}

function draw(plot, { dtype }, { intensity, ridge, rate, peak, bound }) {
  const [left, height] = [34, Math.round(Math.max(250, 0.6 * plot.width))];
  plot.height = height + 40;
  const area = plot.area("roofs", { left, height, width: plot.width - left, x: X, y: Y, logX: true, logY: true });
  area.rect([X[0], Y[0]], [ridge, Y[1]], bound === "memory" ? "washed bwd" : "washed ink");
  area.rect([ridge, Y[0]], [X[1], Y[1]], bound === "compute" ? "washed fwd" : "washed ink");
  for (const x of [0.1, 1, 10, 100, 1000]) area.xTick(x, brief(x));
  for (const y of [1, 10, 100]) area.yTick(y, brief(y));
  plot.text(plot.width, height + 34, "FLOPs per byte", "soft end");
  area.text(X[0], Y[1], "TFLOP/s", "soft start", [6, 16]);
  for (const [name, each] of Object.entries(PEAKS)) {
    const [top, corner] = [each / 1e12, each / BANDWIDTH];
    area.line([[X[0], (X[0] * BANDWIDTH) / 1e12], [corner, top], [X[1], top]], name === dtype ? "ink" : "ink thin dashed");
    area.text(X[1], top, name, name === dtype ? "strong end" : "soft end", [-6, -7]);
  }
  area.line([[ridge, Y[0]], [ridge, peak / 1e12]], "ink thin");
  area.line([[intensity, Y[0]], [intensity, rate / 1e12]], bound === "memory" ? "bwd" : "fwd");
  area.text(ridge, Y[0], `ridge ${brief(ridge)}`, "soft start", [5, -8]);
}

const micro = (seconds) => `${brief(seconds * 1e6)} µs`;

function describe(state, { intensity, ridge, rate, peak, bound, seconds, flops, bytes }) {
  const side = bound === "memory" ? "left of the ridge" : "past the ridge";
  const share = `${Math.round((100 * rate) / peak)}%`;
  const more = model({ ...state, rows: 2 * state.rows }).seconds / seconds;
  return {
    said: `${brief(intensity)} FLOPs per byte, ${side} at ${brief(ridge)}: ${bound}-bound. At best ${share} of the peak.`,
    bad: bound === "memory",
    facts: [
      ["FLOPs", `${brief(flops / 1e9)} billion`],
      ["Bytes: input, weight, result", `${brief(bytes / 1e6)} MB`],
      ["Least time", micro(seconds)],
      ["Twice the rows take", `× ${brief(more)} the time`],
    ],
  };
}

show("roofline", { controls, model, draw, describe });
