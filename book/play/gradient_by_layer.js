// The gradient's size in each of twenty layers, by the law, beside what the library measured.
import { brief } from "../machine/numbers.js";
import { show } from "./frame.js";

const DEPTH = 20;
const X = [-0.5, DEPTH + 0.5];
const Y = [1e-12, 1e13];
const FORMATS = { float16: { least: 2 ** -24, most: 65504 }, float32: { least: 2 ** -149, most: 3.4028e38 } };

const variance = { name: "scale", label: "n·Var(w), width times variance", min: -2, max: 4, step: 0.5, base: 2 };
const controls = [
  { ...variance, notches: () => [[1 / 3, "default"], [1, "Xavier"], [2, "He"]] },
  { name: "activation", label: "Activation", options: { none: "none", ReLU: "ReLU", tanh: "tanh" } },
  { name: "width", label: "Width n of the measured layers", options: { 16: "16", 64: "64", 256: "256" } },
  { label: "Gradient at the input", area: "layers", y: variance, at: (state, { law }) => [0, law[0]] },
];

// The mean square of an activation and of its slope, over normal inputs of this mean square.
const MEANS = {
  none: (square) => [square, 1],
  ReLU: (square) => [square / 2, 1 / 2],
  tanh(square) {
    const [step, far] = [0.02, 8];
    const means = [0, 0];
    for (let z = -far; z <= far; z += step) {
      const value = Math.tanh(Math.sqrt(square) * z);
      const weight = (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * step;
      means[0] += weight * value ** 2;
      means[1] += weight * (1 - value ** 2) ** 2;
    }
    return means;
  },
};

function model({ scale: nVar, activation, width }, data) {
  const slopes = [];
  for (let square = 1; slopes.length < DEPTH; ) {
    const [value, slope] = MEANS[activation](square);
    slopes.push(slope);
    square = nVar * value;
  }
  const law = [1]; // at the output; each layer multiplies it on the way back
  for (const slope of slopes.toReversed()) law.unshift(law[0] * Math.sqrt(nVar * slope));
  return { law, slopes, factor: law[0] ** (1 / DEPTH), measured: findMeasured(data[activation][width], nVar) };
}

// Without tanh, a scale of all weights multiplies the gradient alike in every layer, so one run tells of all scales.
function findMeasured(found, nVar) {
  if (typeof found[0] === "number") return found.map((value, layer) => value * nVar ** ((DEPTH - layer) / 2));
  return found.find(([each]) => Math.abs(each / nVar - 1) < 1e-6)?.[1] ?? [];
}

const isLost = (value, { least, most }) => value < least / 2 || value > most;

function draw(plot, state, { law, measured }) {
  const [left, height] = [46, Math.round(Math.max(290, 0.62 * plot.width))];
  plot.height = height + 42;
  const area = plot.area("layers", { left, height, width: plot.width - left - 16, x: X, y: Y, logY: true });
  const { least, most } = FORMATS.float16;
  const zeroBelow = least / 2; // half of the least number and less rounds to 0
  area.rect([X[0], Y[0]], [X[1], zeroBelow], "washed bwd");
  area.rect([X[0], most], [X[1], Y[1]], "washed bwd");
  for (const power of [-10, -5, 0, 5, 10]) area.yTick(10 ** power, power ? `1e${power}` : "1");
  for (const layer of [0, 5, 10, 15, 20]) area.xTick(layer, { 0: "input", 20: "output" }[layer] ?? String(layer));
  area.text(X[1], zeroBelow, "float16: 0 below 3e-8", "soft end", [-6, 18]);
  area.text(X[1], most, "float16: inf above 65,504", "soft end", [-6, -8]);
  plot.text(left + area.width / 2, height + 36, "← the gradient comes back, layer by layer", "bwd");
  const points = law.map((value, layer) => [layer, value]);
  area.line(points, "bwd");
  for (const [layer, value] of measured.entries()) area.dot(layer, value, 3.5, "ink hollow");
}

// After how many layers of this factor a number type has nothing left, or no number for it.
function endIn(name, factor) {
  const { least, most } = FORMATS[name];
  const layers = Math.ceil(Math.log(factor < 1 ? least / 2 : most) / Math.log(factor));
  const isLevel = Math.abs(Math.log(factor)) < 1e-3;
  return [`At this factor ${name} is ${factor < 1 ? "0" : "inf"}`, isLevel ? "never" : `after ${layers} layers`];
}

function describe({ scale: nVar, activation }, { law, factor, slopes, measured }) {
  const slope = factor ** 2 / nVar;
  const varies = Math.abs(slopes[0] - slopes.at(-1)) > 1e-9 ? "about " : "";
  const lost = isLost(law[0], FORMATS.float16) ? `, ${factor < 1 ? "0" : "inf"} in float16` : "";
  const product = `√(${brief(nVar)} × ${brief(slope)}) = ${brief(factor)}`;
  return {
    said: `Each layer multiplies the gradient by ${varies}${product}: after 20 layers × ${brief(law[0], 2)}${lost}.`,
    bad: law[0] < 1e-3 || law[0] > 1e3,
    facts: [
      ["Factor per layer", "√(n·Var(w) · E[slope²])"],
      [`E[slope²], ${activation === "none" ? "no activation" : activation}`, `${varies}${brief(slope)}`],
      ["After 20 layers, by the law", `× ${brief(law[0], 2)}`],
      ["Measured on random layers", measured.length ? `× ${brief(measured[0], 2)}` : "at the slider's steps"],
      endIn("float16", factor),
      endIn("float32", factor),
    ],
  };
}

show("gradient-by-layer", { controls, model, draw, describe });
