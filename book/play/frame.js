// The frame of a figure to play with. What a reader sets is the state; all that is shown follows from it.
import { makeHash, onAddress, readFields } from "../machine/fields.js";
import { Voice } from "../machine/voice.js";
import { makeControl } from "./controls.js";
import { Handle } from "./handle.js";
import { Plot } from "./plot.js";

const SAVE_AFTER = 250; // milliseconds: browsers refuse more than a few addresses a second

// Show a figure wherever the page has it: {controls, model, draw, describe, kept}, as CONTRIBUTING.md tells.
export function show(name, figure) {
  (globalThis.bpFigures ??= {})[name] = figure;
  for (const root of document.querySelectorAll(`.bp-play[data-figure="${name}"]`)) new Frame(root, figure);
}

const PARTS = `
<p class="title" data-part="title"></p>
<p class="try"><b>Try first:</b> <span data-part="try"></span></p>
<div class="play">
  <div class="stage" data-part="stage">
    <svg role="group" aria-label="Figure" data-part="svg"><g role="img" data-part="drawing"><g aria-hidden="true" data-part="layer"></g></g></svg>
  </div>
  <div class="controls" data-part="controls"></div>
  <div class="told" data-part="told"><p data-part="said"></p></div>
  <dl data-part="facts"></dl>
  <p class="unseen" data-part="live" aria-live="polite"></p>
</div>`;

class Frame {
  constructor(root, figure) {
    const { start, title } = root.dataset;
    this.data = JSON.parse(root.querySelector("script").textContent);
    Object.assign(this, { root, figure, id: root.id, start: JSON.parse(start) });
    this.part = fill(root);
    this.part.title.textContent = title;
    this.part.try.textContent = root.dataset.try;
    this.voice = new Voice(this.part.live);
    this.plot = new Plot(this.part.svg, this.part.layer);
    const isHandle = (control) => control.x || control.y;
    this.handles = figure.controls.filter(isHandle).map((control) => new Handle(control, this));
    this.controls = figure.controls.filter((control) => !isHandle(control)).map((control) => makeControl(control, this));
    const reset = makeControl({ label: "Reset", press: () => this.start }, this);
    this.part.controls.append(...[...this.controls, reset].map((control) => control.element));
    this.listen();
    root.classList.add("ready");
  }

  listen() {
    const sent = this.readAddress();
    this.load({ ...this.remembered, ...sent });
    if (Object.keys(sent).length) this.root.scrollIntoView({ block: "start" });
    onAddress(() => {
      if (location.hash === makeHash(this.id, this.fields)) return;
      const now = this.readAddress();
      if (!Object.keys(now).length) return;
      this.load(now);
      this.root.scrollIntoView({ block: "start" });
    });
    new ResizeObserver(() => this.plot.width !== this.part.stage.clientWidth && this.paint()).observe(this.part.stage);
  }

  load(changes) {
    this.state = { ...this.start, ...changes };
    this.paint();
  }

  // What a reader does: the state changes, and a screen reader hears what comes of it.
  set(changes) {
    this.load({ ...this.state, ...changes });
    if (this.figure.kept) this.remember();
    this.voice.say(this.told.said);
    clearTimeout(this.saving);
    this.saving = setTimeout(() => history.replaceState(null, "", makeHash(this.id, this.fields)), SAVE_AFTER);
  }

  paint() {
    const { figure, state, data, part, plot } = this;
    this.numbers = figure.model(state, data);
    plot.begin(part.stage.clientWidth);
    figure.draw(plot, state, this.numbers, data);
    this.told = figure.describe(state, this.numbers, data);
    part.said.textContent = this.told.said;
    part.told.classList.toggle("bad", Boolean(this.told.bad));
    part.drawing.setAttribute("aria-label", this.told.said);
    part.facts.replaceChildren(...(this.told.facts ?? []).map(([name, words]) => makeFact(name, words)));
    for (const control of [...this.controls, ...this.handles]) control.paint(state, this.numbers);
  }

  // --- what the browser keeps beside the answers to questions, and forgets with them ---

  get remembered() {
    const { kept } = this.figure;
    return kept ? { [kept]: bookMemory.get("answers", {})[bookMemory.page]?.[this.id] ?? this.start[kept] } : {};
  }

  remember() {
    const all = bookMemory.get("answers", {});
    all[bookMemory.page] = { ...all[bookMemory.page], [this.id]: this.state[this.figure.kept] };
    bookMemory.set("answers", all);
  }

  // --- the address: what differs from the start ---

  get fields() {
    const differs = ([name, value]) => value !== this.start[name] && name !== this.figure.kept;
    return Object.fromEntries(Object.entries(this.state).filter(differs));
  }

  readAddress() {
    const texts = readFields(this.id);
    const pairs = [...this.controls, ...this.handles].flatMap((control) => control.read?.(texts) ?? []);
    return Object.fromEntries(pairs.filter(([, value]) => value !== undefined));
  }
}

function fill(root) {
  root.innerHTML = PARTS;
  return Object.fromEntries([...root.querySelectorAll("[data-part]")].map((element) => [element.dataset.part, element]));
}

function makeFact(name, words) {
  const pair = document.createElement("div");
  for (const [tag, text] of Object.entries({ dt: name, dd: words }))
    pair.append(Object.assign(document.createElement(tag), { textContent: text }));
  return pair;
}
