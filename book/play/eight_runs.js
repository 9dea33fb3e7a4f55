// Eight broken runs to diagnose, each beside the healthy one. Which case a run is stands in the data, not on the page.
import { brief } from "../machine/numbers.js";
import { show } from "./frame.js";

const STEPS = 100;
const RUNS = [..."ABCDEFGH"];
const ROWS = ["body.0", "body.1", "body.2", "head"];
const VITALS = ["Loss", "Gradient norm", "Update/weight", "Weight norm"];
const MAP = { faintest: -4, strongest: 1, shades: 16 }; // powers of ten, as on the maps of the page
const X = [0.5, STEPS + 0.5];

// By the number of the case: what is broken, and the sign that only it has.
const DIAGNOSES = {
  case5: ["detach() before the head", "the layers below it are in the monitor, and never have a gradient"],
  case6: ["Hidden layers in a plain list", "the hidden layers are not in the monitor at all"],
  case8: ["Labels of other examples", "the gradients look healthy, and the loss stays that of a guess, ln 4 = 1.39"],
  case4: ["A root with an infinite slope at 0", "the loss of step 1 is finite, its gradient norm is not, and then all is NaN"],
  case2: ["A sum over the batch, not a mean", "loss and gradients are 32 times the healthy ones at step 1, the batch size"],
  case3: ["Too much weight decay", "step 1 is healthy, and then the weight norm falls, and the gradients with it"],
  case7: ["Weights drawn too large", "the weight norm is too large at step 1, and so are loss and gradients"],
  case1: ["zero_grad() is missing", "step 1 is healthy, and at step 2 the gradient norm is nearly the sum of two"],
};
const NAMES = Object.fromEntries(Object.entries(DIAGNOSES).map(([answer, [name]]) => [answer, name]));

const controls = [
  { name: "run", label: "Run", options: Object.fromEntries(RUNS.map((run) => [run, run])) },
  { name: "diagnosis", label: "What is broken?", options: NAMES },
  {
    label: "Diagnose",
    press: ({ run, diagnosis, given }) => ({ given: `${given} ${run}-${diagnosis}`.trim() }),
    when: ({ diagnosis, run, given }) => diagnosis && !given.split(" ").includes(`${run}-${diagnosis}`),
  },
  { label: "Next run", press: ({ run }) => ({ run: nextOf(run), diagnosis: "", step: 1 }) },
  { label: "Step", area: "steps", x: { name: "step", min: 1, max: STEPS, step: 1 } },
];

const nextOf = (run) => RUNS[(RUNS.indexOf(run) + 1) % RUNS.length];
const read = (value) => (value === null || value === undefined ? NaN : Number(value));

function model({ run, diagnosis, step, given }, data) {
  const { vitals, rms } = data[run];
  const at = step - 1;
  const answers = given.split(" ").filter(Boolean).map((each) => each.split("-"));
  const isRight = ([letter, answer]) => answer === `case${data[letter].case}`;
  const first = answers.filter(([letter], i) => answers.findIndex((each) => each[0] === letter) === i);
  return {
    vitals: vitals.map((values) => read(values[at])),
    ratios: rms.map((row, i) => read(row?.[at]) / data[""].rms[i][at]),
    found: new Set(answers.filter(isRight).map(([letter]) => letter)),
    atFirst: first.filter(isRight).length,
    isTried: answers.some(([letter, answer]) => letter === run && answer === diagnosis),
  };
}

function draw(plot, { run, step }, numbers, data) {
  const left = 58;
  const place = (top, height) => ({ left, top, height, width: plot.width - left - 12, x: X });
  plot.height = 376;
  drawLosses(plot, place(22, 120), data[""].vitals[0], data[run].vitals[0]);
  drawMap(plot, place(170, 72), data[""].rms, "fwd", "gradients of the weights, healthy");
  drawMap(plot, place(268, 72), data[run].rms, "bwd", `gradients of the weights, run ${run}`);
  const whole = plot.area("steps", { ...place(22, 326), y: [0, 1] });
  whole.line([[step, 0], [step, 1]], "ink thin");
  for (const tick of [1, 20, 40, 60, 80, 100]) plot.text(whole.px(tick), 372, String(tick), "soft");
}

function drawLosses(plot, place, healthy, broken) {
  const values = [...healthy, ...broken].map(read).filter(Number.isFinite);
  const [low, high] = [0.8 * Math.min(...values), 1.2 * Math.max(...values)];
  const area = plot.area("losses", { ...place, y: [low, high], logY: true });
  const ticks = high < 100 ? [0.2, 0.5, 1, 2, 5] : [1, 10, 100];
  for (const tick of ticks.filter((each) => each > low && each < high)) area.yTick(tick, String(tick));
  const points = (losses) => losses.map((loss, i) => [i + 1, read(loss)]);
  area.line(points(healthy), "fwd");
  area.line(points(broken), "bwd dashed");
  area.dot(1, read(broken[0]), 3.5, "bwd");
  plot.text(place.left, 14, "loss: healthy solid, this run dashed", "soft start");
}

const levelOf = (value) => {
  const share = (Math.log10(value) - MAP.faintest) / (MAP.strongest - MAP.faintest);
  return Math.round((MAP.shades - 1) * Math.min(1, Math.max(0, share)));
};

// A row for each weight, the stronger the larger; neighbours of one shade are one mark.
function drawMap(plot, place, rms, tone, title) {
  const area = plot.area(title, { ...place, y: [ROWS.length, 0] });
  plot.text(place.left, place.top - 6, title, `${tone} strong start`);
  for (const [i, name] of ROWS.entries()) {
    plot.text(place.left - 6, place.top + (i + 0.5) * 18 + 5, name, "soft end");
    const levels = Array.from({ length: STEPS }, (_, at) => shadeOf(rms[i]?.[at]));
    for (const [level, from, to] of runsOf(levels).filter(([each]) => each >= 0)) {
      const share = 0.06 + (0.94 * level) / (MAP.shades - 1);
      area.rect([from + 0.5, i + 0.06], [to + 0.5, i + 0.94], `solid ${tone}`, share);
    }
    const missing = rms[i] === null ? "not in the monitor" : { [-1]: "None", [-2]: "NaN" }[levels.at(-1)];
    if (missing) area.text(50, i + 0.5, missing, "ink", [0, 5]);
  }
}

const shadeOf = (value) => (value === "nan" ? -2 : value === null || value === undefined ? -1 : levelOf(value));

function runsOf(levels) {
  const edges = levels.flatMap((level, at) => (level === levels[at - 1] ? [] : [at]));
  return edges.map((from, i) => [levels[from], from, edges[i + 1] ?? levels.length]);
}

const times = (ratio) => (Number.isFinite(ratio) ? `× ${brief(ratio, 2)}` : "–");

function describe({ run, diagnosis, step }, { vitals, ratios, found, atFirst, isTried }, data) {
  const [name, sign] = DIAGNOSES[found.has(run) ? `case${data[run].case}` : diagnosis] ?? [];
  const asked = `Run ${run}, step ${step}: loss ${brief(vitals[0])}, gradient norm ${brief(vitals[1])}. What is broken?`;
  const tried = isTried ? `Not yet. The sign of “${name}”: ${sign}.` : asked;
  return {
    said: found.has(run) ? `Right, case ${data[run].case}. ${name}: ${sign}.` : tried,
    bad: isTried && !found.has(run),
    facts: [
      ...VITALS.map((vital, i) => [`${vital} at step ${step}`, compare(vitals[i], read(data[""].vitals[i][step - 1]))]),
      ["Gradients, times the healthy ones", ratios.map(times).join(", ")],
      ["Found", `${found.size} of ${RUNS.length}, ${atFirst} at the first try`],
    ],
  };
}

// Where the healthy run has no number either, there is none yet.
function compare(value, healthy) {
  return Number.isNaN(healthy) ? "none yet" : `${brief(value)} (healthy ${brief(healthy)})`;
}

show("eight-runs", { controls, model, draw, describe, kept: "given" });
