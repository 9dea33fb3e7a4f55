// Gradient descent over the two parameters of a recurrent unit, whose loss has a cliff; each gradient may be clipped.
import { brief } from "../machine/numbers.js";
import { show } from "./frame.js";

const STEPS = 80;
const TURNS = 50; // of the recurrence
const HIGH = 0.05; // a loss with which nobody would be content
const MAP = { w: [3.5, 6.5], b: [-3.2, -1.2] };

const controls = [
  { name: "clip", label: "Clipping", options: { none: "none", norm: "by norm", value: "by value" } },
  {
    name: "threshold",
    label: "Threshold τ",
    min: -2,
    max: 0.5,
    step: 0.05,
    base: 10,
    when: ({ clip }) => clip !== "none",
  },
  {
    label: "Start of the run",
    area: "map",
    x: { name: "w", min: MAP.w[0], max: MAP.w[1], step: 0.02 },
    y: { name: "b", min: MAP.b[0], max: MAP.b[1], step: 0.02 },
  },
];

const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const lengthOf = ([a, b]) => Math.hypot(a, b);

// Loss and gradient, in forward mode: the derivatives go along with the state.
function slopeAt([w, b]) {
  let [x, byW, byB] = [0.5, 0, 0];
  for (let k = 0; k < TURNS; k += 1) {
    const s = sigmoid(x);
    const slope = w * s * (1 - s);
    [x, byW, byB] = [w * s + b, s + slope * byW, 1 + slope * byB];
  }
  const s = sigmoid(x);
  const outer = 2 * (s - 0.7) * s * (1 - s);
  return { loss: (s - 0.7) ** 2, gradient: [outer * byW, outer * byB] };
}

const CLIPS = {
  none: (gradient) => gradient,
  norm: (gradient, threshold) => gradient.map((entry) => entry * Math.min(1, threshold / lengthOf(gradient))),
  value: (gradient, threshold) => gradient.map((entry) => Math.max(-threshold, Math.min(threshold, entry))),
};

function stepFrom(place, { clip, threshold }) {
  const { loss, gradient } = slopeAt(place);
  const step = CLIPS[clip](gradient, threshold);
  const [[a, b], [c, d]] = [gradient, step];
  const turned = Math.abs((Math.atan2(a * d - b * c, a * c + b * d) * 180) / Math.PI);
  return { place, loss, gradient, norm: lengthOf(gradient), step, length: lengthOf(step), turned };
}

function model(state) {
  const log = [];
  for (let place = [state.w, state.b]; log.length < STEPS; ) {
    const now = stepFrom(place, state);
    log.push(now);
    place = place.map((entry, i) => entry - now.step[i]);
  }
  const steepest = log.reduce((best, each, i) => (each.norm > log[best].norm ? i : best), 0);
  const clipped = log.filter(({ norm, length }) => length < norm * (1 - 1e-9)).length;
  const last = log.at(-1);
  return { ...log[0], log, steepest, clipped, last: last.loss, isThrown: !isOnMap(last.place) && last.loss > HIGH };
}

function draw(plot, { clip, threshold }, { log, steepest, isThrown }, levels) {
  plot.height = Math.round((plot.width * 2) / 3) + 4;
  const area = plot.area("map", { height: plot.height - 4, x: MAP.w, y: MAP.b });
  for (const level of levels) area.shape(level, "level");
  const { place, gradient, step } = log[steepest];
  const to = (by, factor = 1) => place.map((entry, i) => entry - factor * by[i]);
  const tone = isThrown ? "bwd" : "fwd";
  area.line(log.map((each) => each.place), `${tone} thin`);
  for (const each of log.slice(1)) area.dot(...each.place, 2, tone);
  if (clip === "norm") area.ellipse(...place, threshold, threshold, "bound");
  if (clip === "value") area.rect(to([threshold, threshold]), to([-threshold, -threshold]), "bound");
  area.arrow(place, to(gradient), "bwd dashed");
  if (clip !== "none") area.arrow(place, to(step), "fwd thick");
  area.text(MAP.w[1], MAP.b[0], "w →", "soft end", [-6, -8]);
  area.text(MAP.w[0], MAP.b[1], "↑ b", "soft start", [6, 18]);
  area.text(MAP.w[0], MAP.b[0], "high loss", "soft start", [6, -8]);
  area.text(5.6, -3, "cliff", "strong start", [8, -4]);
}

function describe({ clip, threshold }, { log, steepest, clipped, last, isThrown }) {
  const { norm, length, turned } = log[steepest];
  const angle = `${Math.round(turned)}°`;
  const facts = [
    [`Largest gradient norm, at step ${steepest}`, short(norm)],
    ["Length of the step there", short(length)],
    ["Turned by clipping", angle],
    ["Steps clipped", `${clipped} of ${STEPS}`],
    [`Loss after ${STEPS} steps`, short(last)],
  ];
  const met = `At step ${steepest} the gradient norm is ${short(norm)}`;
  const how = turned < 0.5 ? "in the same direction" : `turned by ${angle}`;
  if (isThrown) return { said: `${met}: the step throws the run off the map, to a loss of ${short(last)}.`, bad: true, facts };
  if (clipped) return { said: `${met}: clipped, the step is ${short(length)} long, ${how}.`, facts };
  if (clip === "none") return { said: `This run gets through unclipped: no gradient norm above ${short(norm)}.`, facts };
  return { said: `No gradient of this run exceeds τ = ${short(threshold)}: clipping changes nothing.`, facts };
}

const short = (number) => brief(number, 2);
const isOnMap = ([w, b]) => w >= MAP.w[0] && w <= MAP.w[1] && b >= MAP.b[0] && b <= MAP.b[1];

show("clipping-cliff", { controls, model, draw, describe });
