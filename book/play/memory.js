// The memory of a training step, from shapes: what each operation makes, and when what it read is freed.
import { brief } from "../machine/numbers.js";
import { show } from "./frame.js";

const BLOCKS = 4;
const FLOAT = 4; // bytes
const KINDS = { parameters: "ink", "optimizer state": "soft", gradients: "bwd", activations: "fwd", temporary: "bwd dashed" };

const controls = [
  { name: "form", label: "Step", options: { plain: "plain", checkpointed: "checkpointed", no_grad: "no_grad (no backward)" } },
  { name: "pieces", label: "Accumulate over 4 micro-batches" },
  { name: "tokens", label: "Tokens in the batch", min: 9, max: 15, step: 1, base: 2 },
  { name: "width", label: "Width of the model", min: 6, max: 11, step: 1, base: 2 },
  { name: "words", label: "Words of the vocabulary", min: 8, max: 16, step: 1, base: 2 },
  { label: "To the peak", press: (state, { peakAt, live }) => ({ share: peakAt / (live.length - 1) }) },
  {
    label: "Operation",
    area: "step",
    x: { name: "share", min: 0, max: 1, step: 0.005 },
    say: ({ share }, { live, operations }) => tellOperation(cursorAt(share, live), live, operations),
  },
];

const cursorAt = (share, live) => Math.round(share * (live.length - 1));

// What an operation makes is alive from then until `free`, which acts before the next operation.
class Log {
  constructor() {
    Object.assign(this, { operations: [{ phase: "start", label: "the start" }], arrays: [] });
  }

  op(phase, label, name, bytes, kind) {
    this.operations.push({ phase, label });
    if (!name) return null;
    const array = { name, bytes, kind, born: this.operations.length - 1, died: Infinity };
    this.arrays.push(array);
    return array;
  }

  free(...arrays) {
    for (const array of arrays.filter(Boolean)) array.died = Math.min(array.died, this.operations.length);
  }
}

function logStep({ tokens, width, words, form, pieces }) {
  const log = new Log();
  const parts = pieces ? 4 : 1;
  const own = BLOCKS * 8 * width ** 2 + width * words;
  const there = { born: 0, died: Infinity };
  log.arrays.push({ name: "weights", bytes: FLOAT * own, kind: "parameters", ...there });
  log.arrays.push({ name: "batch", bytes: tokens * (FLOAT * width + 8), kind: "parameters", ...there });
  const moments = { name: "two moments", bytes: 2 * FLOAT * own, kind: "optimizer state", ...there };
  if (form !== "no_grad") log.arrays.push(moments);
  const piece = { rows: tokens / parts, width, words, form };
  for (let part = 0; part < parts; part += 1) logPiece(log, { ...piece, isFirst: part === 0 });
  if (form !== "no_grad") log.op("optimizer", "AdamW's update");
  return log;
}

function logPiece(log, { rows, width, words, form, isFirst }) {
  const sizes = { stream: FLOAT * rows * width, hidden: FLOAT * rows * 4 * width, scores: FLOAT * rows * words };
  const made = { log, form, sizes, weight: FLOAT * 4 * width ** 2, head: FLOAT * width * words, isFirst };
  const saved = [];
  let input = null; // of the first block: the batch
  for (let block = 1; block <= BLOCKS; block += 1) {
    saved.push(goForward(made, block, input));
    input = saved.at(-1).output;
  }
  const logits = log.op("forward", "the logits", "logits", sizes.scores);
  const logarithms = log.op("forward", "the log-softmax", "log-probabilities", sizes.scores);
  log.op("forward", "the loss");
  log.free(logits);
  if (form === "no_grad") return log.free(input, logarithms);
  const arriving = log.op("backward", "the loss", "gradient of the log-probabilities", sizes.scores);
  const leaving = log.op("backward", "the log-softmax", "gradient of the logits", sizes.scores);
  log.free(logarithms, arriving);
  const ofHead = logWeight(made, "the logits", made.head);
  let upstream = log.op("backward", "the logits", "upstream gradients", sizes.stream);
  log.free(leaving, input, ofHead);
  for (let block = BLOCKS; block >= 1; block -= 1) upstream = goBack(made, block, saved[block - 1], upstream);
}

// A weight's gradient stays in .grad; that of a later micro-batch is added to it, and freed.
function logWeight({ log, isFirst }, label, bytes) {
  const gradient = log.op("backward", label, "gradients of weights", bytes, isFirst ? "gradients" : undefined);
  return isFirst ? null : gradient;
}

function goForward({ log, form, sizes }, block, input) {
  const of = (name) => `${name} of block ${block}`;
  const up = log.op("forward", of("the up-projection"), "outputs of up-projections", sizes.hidden);
  const gelu = log.op("forward", of("the GELU"), "outputs of GELUs", sizes.hidden);
  if (form !== "plain") log.free(up);
  const down = log.op("forward", of("the down-projection"), "outputs of down-projections", sizes.stream);
  if (form !== "plain") log.free(gelu);
  const output = log.op("forward", of("the residual connection"), "outputs of blocks", sizes.stream);
  log.free(down);
  if (form === "no_grad") log.free(input);
  return { input, up, gelu, output };
}

function goBack(made, block, { input, up, gelu }, upstream) {
  const { log, form, sizes, weight } = made;
  const of = (name) => `${name} of block ${block}`;
  if (form === "checkpointed") {
    up = log.op("backward", of("the up-projection, once more,"), "outputs of up-projections", sizes.hidden);
    gelu = log.op("backward", of("the GELU, once more,"), "outputs of GELUs", sizes.hidden);
  }
  const ofDown = logWeight(made, of("the down-projection"), weight);
  const ofGelu = log.op("backward", of("the down-projection"), "upstream gradients", sizes.hidden);
  log.free(gelu, ofDown);
  if (block === 1) log.free(upstream);
  const ofUp = log.op("backward", of("the GELU"), "upstream gradients", sizes.hidden);
  log.free(ofGelu, up);
  const ofWeight = logWeight(made, of("the up-projection"), weight);
  if (block === 1) return log.free(ofUp, ofWeight); // the batch needs no gradient
  const around = log.op("backward", of("the up-projection"), "upstream gradients", sizes.stream);
  log.free(ofUp, input);
  const sum = log.op("backward", of("the residual connection"), "upstream gradients", sizes.stream);
  log.free(upstream, around, ofWeight);
  return sum;
}

const isAlive = ({ born, died }, at) => born <= at && at < died;

// An activation is what the forward pass made and the backward pass finds; all other is temporary.
function kindOf(array, operations) {
  if (array.kind) return array.kind;
  const turn = operations.findIndex(({ phase }, at) => at >= array.born && phase === "backward");
  return turn > array.born && isAlive(array, turn) ? "activations" : "temporary";
}

function model(state) {
  const { operations, arrays } = logStep(state);
  const kinds = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, operations.map(() => 0)]));
  for (const array of arrays) {
    array.kind = kindOf(array, operations);
    const end = Math.min(array.died, operations.length);
    for (let at = array.born; at < end; at += 1) kinds[array.kind][at] += Math.floor(array.bytes / 1024);
  }
  const live = operations.map((_, at) => Object.values(kinds).reduce((sum, sizes) => sum + sizes[at], 0));
  const peak = Math.max(...live);
  return { ...kinds, live, peak, peakAt: live.indexOf(peak), operations, arrays };
}

const PASSES = { forward: "forward pass", backward: "backward pass", optimizer: "optimizer" };

function draw(plot, { share }, numbers) {
  const { live, peak, peakAt, operations } = numbers;
  const [left, top, height] = [52, 26, Math.round(Math.min(390, Math.max(250, 0.85 * plot.width)))];
  plot.height = top + height + 38;
  const last = live.length - 1;
  const place = { left, top, height, width: plot.width - left - 12 };
  const area = plot.area("curve", { ...place, x: [0, last + 1], y: [0, 1.12 * peak] });
  const whole = plot.area("step", { ...place, x: [0, (last + 1) / last], y: [0, 1] });
  const base = live.map(() => 0);
  const seen = Object.entries(KINDS).map(([kind, tone]) => {
    const low = [...base];
    for (const [at, size] of numbers[kind].entries()) base[at] += size;
    return { kind, tone, low, high: [...base] };
  });
  for (const { tone, low, high } of seen) area.shape(outline(low, high), `stacked ${tone}`);
  for (const tick of ticks(peak)) area.yTick(tick, size(tick));
  drawPhases(plot, area, operations);
  for (const { kind, low, high } of seen) nameArea(area, kind, low, high);
  whole.line([[share, 0], [share, 1]], "ink");
  area.dot(peakAt, peak, 5, "ink");
  area.text(peakAt, peak, `peak ${size(peak)}`, `strong ${peakAt > last / 2 ? "end" : "start"}`, [peakAt > last / 2 ? -8 : 8, -6]);
}

// Each value holds until the next operation.
function outline(low, high) {
  const steps = (values) => values.flatMap((value, at) => [[at, value], [at + 1, value]]);
  const points = [...steps(high), ...steps(low).reverse()];
  return `M${points.map((point) => point.join(" ")).join("L")}Z`;
}

// A kind's name stands where it is thickest, if it has room there.
function nameArea(area, kind, low, high) {
  const thickness = high.map((value, at) => area.py(low[at]) - area.py(value));
  const room = high.map((_, at) => Math.min(...thickness.slice(Math.max(0, at - 2), at + 3)));
  const widest = Math.max(...room);
  if (widest < 18) return;
  const spots = room.flatMap((each, at) => (each > 0.9 * widest ? [at] : []));
  const at = spots[Math.floor(spots.length / 2)];
  const half = 4 * kind.length;
  const x = Math.min(area.left + area.width - half, Math.max(area.left + half, area.px(at + 0.5)));
  area.text(area.x(x), (low[at] + high[at]) / 2, kind, "strong", [0, 5]);
}

function drawPhases(plot, area, operations) {
  let start = 1;
  for (let at = 2; at <= operations.length; at += 1) {
    if (operations[at]?.phase === operations[start]?.phase) continue;
    const [from, to] = [area.px(start), area.px(at)];
    area.line([[start, 0], [start, area.y(area.top)]], "axis");
    const words = [PASSES[operations[start].phase], operations[start].phase].find((each) => 7 * each.length < to - from);
    if (words) plot.text((from + to) / 2, area.top + area.height + 30, words, "soft");
    start = at;
  }
}

function ticks(top) {
  const rough = top / 3;
  const unit = 10 ** Math.floor(Math.log10(rough * 1.024)) / 1.024; // of whole megabytes, while sizes are in KiB
  const step = unit * [5, 2, 1].find((each) => each * unit <= rough);
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => i * step);
}

function size(kibibytes) {
  const mega = (kibibytes * 1024) / 1e6;
  if (mega >= 1000) return `${brief(mega / 1000)} GB`;
  return kibibytes && mega < 1 ? `${brief(mega * 1000)} kB` : `${brief(mega)} MB`;
}

// What is alive of a kind, the largest first, in words.
function list(arrays, kind, at) {
  const names = {};
  for (const array of arrays.filter((each) => each.kind === kind && isAlive(each, at))) {
    const found = (names[array.name] ??= { count: 0, bytes: 0 });
    found.count += 1;
    found.bytes += array.bytes;
  }
  const sorted = Object.entries(names).sort(([, a], [, b]) => b.bytes - a.bytes);
  return sorted.map(([name, { count }]) => (count > 1 ? `${count} ${name}` : name)).join(", ");
}

const whereIs = ({ phase, label }) => (PASSES[phase] ? `after ${label} (${PASSES[phase]})` : "at the start");

const tellOperation = (at, live, operations) =>
  `${at} of ${live.length - 1}, ${whereIs(operations[at])}: ${size(live[at])} alive`;

function describe({ share }, numbers) {
  const { live, peak, peakAt, operations, arrays } = numbers;
  const at = cursorAt(share, live);
  const [most] = Object.keys(KINDS).sort((a, b) => numbers[b][peakAt] - numbers[a][peakAt]);
  const part = `${Math.round((100 * numbers[most][peakAt]) / peak)}% ${most}`;
  const here = at === peakAt ? "" : `${size(live[at])} ${whereIs(operations[at])}. `;
  const facts = Object.keys(KINDS).reverse().map((kind) => {
    const there = list(arrays, kind, at);
    return [there ? `${kind}: ${there}` : kind, size(numbers[kind][at])];
  });
  return { said: `${here}Peak: ${size(peak)} ${whereIs(operations[peakAt])}, ${part}.`, facts };
}

show("memory", { controls, model, draw, describe });
