// One machine: its state, and how it changes. What is on the screen is painted from the state, so a link reproduces it.
import { readAddress } from "./address.js";
import { listen } from "./controls.js";
import { Drawing } from "./draw.js";
import { backward, forward, gradients, listArrived } from "./engine.js";
import { isCalm, keepInSight } from "./motion.js";
import { isEqual, total } from "./numbers.js";
import { dragBoxes, makeSliders } from "./inputs.js";
import { plan } from "./layout.js";
import { paint, sayMoment } from "./paint.js";
import { parse, ParseError } from "./parse.js";
import { ask, judge } from "./questions.js";
import { EXAMPLES, readElement } from "./state.js";
import { fill } from "./template.js";
import { Voice } from "./voice.js";

const PLAY_EVERY = 1900; // milliseconds: long enough to read one rule

export class Machine {
  constructor(root) {
    this.root = root;
    this.id = root.id;
    this.asked = readElement(root); // what the page asks for; the address may say otherwise
    this.part = fill(root, { tryFirst: root.dataset.try, id: this.id });
    this.voice = new Voice(this.part.live);
    this.offerExamples();
    listen(this);
    const sent = readAddress(this.id);
    this.load(sent ?? this.asked);
    root.classList.add("ready");
    if (sent) root.scrollIntoView({ block: "start" });
  }

  offerExamples() {
    const own = EXAMPLES.some(([, text]) => text === this.asked.text) ? [] : [new Option("From this page", "page")];
    const known = EXAMPLES.map(([name], i) => new Option(name, i));
    this.part.example.append(...own, ...known, new Option("Your own", "own"));
  }

  load(state) {
    this.pause();
    this.praise = "";
    this.state = structuredClone(state);
    this.score = { right: 0, asked: 0, missed: false };
    if (this.part.text.value !== state.text) this.part.text.value = state.text;
    for (const name of ["predict", "depthFirst", "keep"]) this.part[name].checked = state[name];
    this.compile();
  }

  // --- from text to a drawing ---

  compile() {
    try {
      this.graph = parse(this.state.text);
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      return this.complain(error.message);
    }
    this.complain("");
    const start = (name, i) => this.state.inputs[name] ?? 2 + (i % 2);
    this.state.inputs = Object.fromEntries(this.graph.leaves.map(({ name }, i) => [name, start(name, i)]));
    const known = EXAMPLES.findIndex(([, text]) => text === this.state.text);
    this.part.example.value = known >= 0 ? known : this.state.text === this.asked.text ? "page" : "own";
    this.part.text.rows = Math.max(1, this.state.text.split("\n").length);
    makeSliders(this);
    this.compute();
    this.draw();
    return paint(this, true);
  }

  complain(message) {
    this.part.complaint.textContent = message;
    this.part.walk.inert = Boolean(message); // the drawing is of the last text that could be read
    this.part.text.setAttribute("aria-invalid", Boolean(message));
  }

  draw() {
    const { walk, svg } = this.part;
    walk.classList.remove("beside");
    this.across = walk.clientWidth;
    const chosen = plan(this.graph, { across: this.across, stage: this.across - 400 });
    walk.classList.toggle("beside", chosen.beside);
    this.drawing = new Drawing(svg, this.graph, chosen, `${this.id}-arrow`);
    dragBoxes(this);
  }

  compute() {
    const { state, graph } = this;
    this.values = forward(graph, state.inputs);
    this.steps = backward(graph, this.values, { ...state, asksNext: state.predict });
    this.truth = gradients(graph, state.inputs);
    state.at = Math.max(0, Math.min(state.at, this.steps.length));
  }

  setInput(name, value) {
    this.state.inputs[name] = Math.round(value * 1e4) / 1e4;
    this.compute();
    paint(this, true);
    this.voice.say(`${name} is ${this.state.inputs[name]}. ${sayMoment(this).rule}`);
  }

  // --- the walk ---

  get isFinished() {
    return this.state.at >= this.steps.length;
  }

  get question() {
    const step = this.steps[this.state.at];
    return this.state.predict && step ? ask(step, this.graph) : null;
  }

  // The leaves whose .grad is not the gradient, once the walk is over.
  get wrong() {
    if (!this.isFinished) return [];
    const terms = listArrived(this.graph, this.steps, this.state.at, this.state.held);
    const has = ({ id, name }) => ({ name, has: total(terms.get(id)), truth: this.truth[name] });
    return this.graph.leaves.map(has).filter((leaf) => !isEqual(leaf.has, leaf.truth));
  }

  go(at) {
    const isNext = at === this.state.at + 1;
    this.state.at = Math.max(0, Math.min(at, this.steps.length));
    paint(this);
    const step = this.steps[this.state.at - 1];
    if (step) keepInSight(this.drawing.boxes.get(step.to ?? step.node).group, this.part);
    if (isNext && step?.kind === "send" && !isCalm()) this.drawing.travel(`${step.node}.${step.slot}`);
    const { head, rule, note, end } = sayMoment(this);
    const said = [this.praise, head, rule, note, end, this.question].filter(Boolean);
    this.voice.say(said.join(". ").replaceAll("!. ", "! "));
  }

  next() {
    if (this.isFinished) return this.again();
    this.praise = "";
    if (this.question) this.settle(false);
    return this.go(this.state.at + 1);
  }

  back() {
    this.praise = "";
    this.go(this.state.at - 1);
  }

  // A second backward(): `.grad` begins with what it holds, unless it is set to zero first.
  again() {
    const now = listArrived(this.graph, this.steps, this.steps.length, this.state.held);
    const leaves = this.state.keep ? this.graph.leaves : [];
    this.begin(Object.fromEntries(leaves.map(({ id, name }) => [name, total(now.get(id))])));
    this.next();
  }

  restart() {
    this.pause();
    this.begin({});
  }

  begin(held) {
    this.praise = "";
    this.score = { right: 0, asked: 0, missed: false };
    Object.assign(this.state, { held, picks: [] });
    this.compute();
    this.go(0);
  }

  // Leaving .grad as it is shows only in a second call, so one call is taken to have been.
  flip(name, on) {
    this.state[name] = on;
    if (this.part.walk.inert) return;
    this.pause();
    const { keep, depthFirst } = this.state;
    this.begin(keep ? gradients(this.graph, this.state.inputs, { depthFirst }) : {});
  }

  togglePlay() {
    if (this.timer) return this.pause();
    if (this.state.predict) return undefined; // whoever predicts sets the pace
    if (this.isFinished) this.restart();
    this.part.play.textContent = "Pause";
    this.timer = setInterval(() => (this.isFinished ? this.pause() : this.next()), PLAY_EVERY);
    return this.next();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.part.play.textContent = "Play";
  }

  // --- predict ---

  answer(answer) {
    const step = this.steps[this.state.at];
    if (!this.question || !Number.isFinite(answer)) return;
    const { right, text } = judge(answer, step, this.graph, this.values);
    if (right) {
      if (step.kind === "pick") this.follow(answer);
      this.praise = text;
      this.settle(!this.score.missed);
      this.go(this.state.at + 1);
      return;
    }
    this.score.missed = true;
    this.part.verdict.textContent = text;
    for (const button of this.part.choices.children) button.disabled ||= Number(button.dataset.answer) === answer;
    this.voice.say(text);
  }

  // There may be several right orders: the walk takes the one that was chosen.
  follow(node) {
    const before = this.steps.slice(0, this.state.at).filter(({ kind }) => kind === "pick");
    this.state.picks = [...before.map((step) => step.node), node];
    this.compute();
  }

  settle(right) {
    this.score = { right: this.score.right + right, asked: this.score.asked + 1, missed: false };
  }
}
