// The SVG: boxes, edges, and the pill that travels. It knows nothing of steps: it is told what each part shows.
import { curve } from "./curve.js";

const NS = "http://www.w3.org/2000/svg";
const TRAVEL = 650; // milliseconds
const DIGIT = 7.6; // pixels, as wide as it gets

function make(tag, attributes = {}, ...children) {
  const element = document.createElementNS(NS, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Where a gradient arrives; an edge's path begins there, at the input.
function makeArrowhead(id) {
  const shape = { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 13, markerHeight: 13 };
  const setting = { markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" };
  return make("marker", { ...shape, ...setting }, make("path", { d: "M0 0L8 4L0 8z" }));
}

export class Drawing {
  constructor(svg, graph, plan, arrowhead) {
    Object.assign(this, { svg, plan, arrowhead, boxes: new Map(), lines: new Map() });
    svg.setAttribute("viewBox", `0 0 ${plan.width} ${plan.height}`);
    svg.setAttribute("width", plan.width * Math.max(plan.scale, 0.6));
    svg.replaceChildren(
      makeArrowhead(arrowhead),
      ...plan.edges.map((edge) => this.makeEdge(edge)),
      ...graph.drawn.map((node) => this.makeNode(node)),
      ...plan.edges.map((edge) => this.makePill(edge)),
    );
  }

  makeNode(node) {
    const { x, y } = this.plan.places.get(node.id);
    const { width, height } = this.plan.box;
    const text = (kind, dy) => make("text", { class: kind, y: dy });
    const parts = { label: text("label", -13), value: text("value", 5), grad: text("grad", 22) };
    parts.label.textContent = node.formula;
    const kind = node.op === "leaf" ? "leaf" : "op";
    const rect = make("rect", { x: -width / 2, y: -height / 2, width, height, rx: kind === "leaf" ? 15 : 6 });
    const place = { class: `node ${kind}`, transform: `translate(${x} ${y})`, "data-node": node.id };
    const group = make("g", place, rect, ...Object.values(parts));
    this.boxes.set(node.id, { group, kind, ...parts });
    return group;
  }

  makeEdge(edge) {
    const d = curve(edge, this.plan);
    const parts = { ahead: make("path", { class: "ahead", d }), back: make("path", { class: "back", d, pathLength: 1 }) };
    this.lines.set(edge.id, parts);
    return make("g", { class: "edge", "data-edge": edge.id }, parts.ahead, parts.back);
  }

  makePill(edge) {
    const text = make("text", { class: "amount", y: 4.5 });
    const rect = make("rect", { y: -10.5, height: 21, rx: 10.5 });
    const pill = make("g", { class: "pill", "data-pill": edge.id }, rect, text);
    Object.assign(this.lines.get(edge.id), { pill, rect, text });
    return pill;
  }

  setNode(id, { value, grad, classes, moving }) {
    const { group, kind, ...texts } = this.boxes.get(id);
    if (texts.value.textContent !== value && moving) this.wave(id, texts.value);
    texts.value.textContent = value;
    texts.grad.textContent = grad;
    group.setAttribute("class", `node ${kind} ${classes}`);
  }

  // A changed value lights up, later the farther it is from the inputs: that is what "forward" looks like.
  wave(id, text) {
    const { x, y } = this.plan.places.get(id);
    const delay = (this.plan.vertical ? y : x) * 0.7;
    text.animate?.([{ opacity: 0.15 }, { opacity: 1 }], { duration: 350, delay, fill: "backwards" });
  }

  setEdge(id, { amount, classes }) {
    const { back, pill, rect, text } = this.lines.get(id);
    back.setAttribute("class", `back ${classes}`);
    back.style.markerStart = /\bsent\b/.test(classes) ? `url(#${this.arrowhead})` : "";
    pill.setAttribute("class", `pill ${classes}`);
    text.textContent = amount;
    const width = amount.length * DIGIT + 16;
    rect.setAttribute("x", -width / 2);
    rect.setAttribute("width", width);
    this.putPill(id, this.restingPlace(id));
  }

  // Under each other there is little room beside: a pill rests where its edge is farthest from others.
  restingPlace(id) {
    if (!this.plan.vertical) return 0.5;
    const edge = this.plan.edges.find((other) => other.id === id);
    const [out, into] = ["from", "to"].map((end) => this.plan.edges.filter((other) => other[end] === edge[end]).length);
    return edge.twin || out === into ? 0.5 : out > into ? 0.6 : 0.36;
  }

  putPill(id, part) {
    const { ahead, pill } = this.lines.get(id);
    const { x, y } = ahead.getPointAtLength(ahead.getTotalLength() * part);
    pill.setAttribute("transform", `translate(${x} ${y})`);
  }

  // From the user back along the edge, to where it stays to be read.
  travel(id) {
    const rest = this.restingPlace(id);
    const { from } = this.plan.edges.find((edge) => edge.id === id);
    const arriving = { duration: 200, delay: TRAVEL - 150, fill: "backwards" };
    this.boxes.get(from).grad.animate?.([{ opacity: 0 }, { opacity: 1 }], arriving);
    const { back } = this.lines.get(id);
    const began = performance.now();
    back.animate?.([{ strokeDashoffset: -1 }, { strokeDashoffset: 0 }], { duration: TRAVEL, easing: "ease-in-out" });
    const frame = (now) => {
      const t = Math.min(1, Math.max(0, (now - began) / TRAVEL));
      if (!back.isConnected) return;
      this.putPill(id, 1 - (1 - rest) * t * t * (3 - 2 * t));
      if (t < 1) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }
}
