// Gradient descent on (u² + λ v²) / 2, in closed form: each step multiplies each coordinate by 1 - ηλ.
import { brief } from "../machine/numbers.js";
import { show } from "./frame.js";

const STEPS = 12;
const FAR = 1e-9; // from the border
const signed = (number) => brief(number).replace("-", "−");

const controls = [
  {
    name: "rate",
    label: "Learning rate η",
    min: 0.005,
    max: 0.4,
    step: 0.005,
    notches: ({ curvature }) => [[2 / curvature, `2/λ = ${brief(2 / curvature)}`]],
  },
  { name: "curvature", label: "Curvature across the valley, λ", min: 5, max: 20, step: 0.5 },
  {
    label: "Start",
    area: "valley",
    x: { name: "along", min: -3, max: 3, step: 0.05 },
    y: { name: "across", min: -1.4, max: 1.4, step: 0.05 },
  },
];

function model({ rate, curvature, along, across }) {
  const curvatures = [1, curvature];
  const factors = curvatures.map((each) => 1 - rate * each);
  const path = Array.from({ length: STEPS + 1 }, (_, k) => [along * factors[0] ** k, across * factors[1] ** k]);
  const losses = path.map(([u, v]) => 0.5 * (u * u + curvature * v * v));
  return { path, losses, factors, border: 2 / curvature };
}

// Below, at and past the border; only the sharper direction can be past it.
const sideOf = ([, factor]) => (Math.abs(factor + 1) < FAR ? "at" : factor < -1 ? "past" : "below");
const TONES = { below: "fwd", at: "ink", past: "bwd dashed" };

function draw(plot, { curvature }, { path, factors }) {
  const { width } = plot;
  const tall = Math.max(250, 0.56 * width);
  plot.height = tall + 108;
  drawValley(plot, tall, curvature, path, TONES[sideOf(factors)]);
  drawFactors(plot, tall, factors);
}

function drawValley(plot, tall, curvature, path, tone) {
  const half = 3.3;
  const up = (half * tall) / plot.width; // as many pixels a unit as across: a step is then at right angles to a level line
  const area = plot.area("valley", { height: tall, x: [-half, half], y: [-up, up] });
  area.rect([-half, -up], [half, up], "washed ink");
  for (let radius = 5; radius > 0; radius -= 0.5)
    area.ellipse(0, 0, radius, radius / Math.sqrt(curvature), "level lower");
  area.line([[-half, 0], [half, 0]], "axis");
  area.line([[0, -up], [0, up]], "axis");
  area.line(path, tone);
  for (const [u, v] of path.slice(1)) area.dot(u, v, 3.5, tone);
  area.text(-half, 0, "along, λ = 1", "soft start", [6, -6]);
  area.text(0, up, `across, λ = ${brief(curvature)}`, "soft start", [7, 16]);
}

function drawFactors(plot, top, factors) {
  const left = -1.9;
  const middle = top + 66;
  plot.text(0, top + 24, "1 − ηλ: what a step multiplies the distance by", "soft start");
  const area = plot.area("factors", { top: middle - 14, height: 28, x: [left, 1.15], y: [-1, 1] });
  area.rect([-1, -1], [1, 1], "washed fwd");
  area.rect([left, -1], [-1, 1], "washed bwd");
  for (const tick of [-1, 0, 1]) {
    area.line([[tick, -1], [tick, 1]], "axis");
    area.text(tick, -1, signed(tick), "soft", [0, 16]);
  }
  area.text(left, -1, "leaves", "bwd start", [4, 16]);
  area.text(-0.5, -1, "zigzags in", "fwd", [0, 16]);
  area.text(0.5, -1, "walks in", "fwd", [0, 16]);
  for (const [i, name] of ["along", "across"].entries()) {
    const at = Math.max(factors[i], left + 0.05);
    const tone = factors[i] < -1 - FAR ? "bwd" : "fwd";
    area.dot(at, 0, 7, i ? tone : `${tone} hollow`);
    const side = at < -1.5 ? "start" : at > 0.7 ? "end" : "middle";
    area.text(at, 0, `${name} ${signed(factors[i])}`, `${tone} strong ${side}`, [0, -18]);
  }
}

function describe({ rate, curvature }, { path, losses, factors, border }) {
  const [along, across] = factors.map(signed);
  const side = sideOf(factors);
  const said = {
    below: `η = ${brief(rate)} is below 2/λ = ${brief(border)}: both directions shrink${factors[1] < 0 ? ", across in a zigzag" : ""}.`,
    at: `η = 2/λ: across, the run jumps from side to side for ever.`,
    past: `η = ${brief(rate)} is past 2/λ = ${brief(border)}: across grows by ${signed(-factors[1])} a step; along still shrinks.`,
  }[side];
  const after = (i) => `× ${signed(factors[i] ** STEPS)}`;
  return {
    said,
    bad: side === "past",
    facts: [
      ["Along, λ = 1", `× ${along} a step, ${after(0)} in ${STEPS}`],
      [`Across, λ = ${brief(curvature)}`, `× ${across} a step, ${after(1)} in ${STEPS}`],
      [`Loss after ${STEPS} steps`, `${brief(losses[STEPS])}, from ${brief(losses[0])}`],
    ],
  };
}

show("learning-rate", { controls, model, draw, describe });
