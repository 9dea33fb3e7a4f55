// A point of the figure that can be dragged, by pointer or by keys: {label, x, y, area}, with a range for x, y or both.
// `say` tells where it stands, where numbers alone would not.
import { format } from "../machine/numbers.js";
import { make } from "./plot.js";
import { rangeOf } from "./range.js";

const FINGER = 22; // pixels around its middle
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
const FAR_KEYS = { Home: -Infinity, PageDown: -10, PageUp: 10, End: Infinity };

export class Handle {
  constructor({ label, x, y, at, area, say }, frame) {
    Object.assign(this, { frame, x, y, area, say: say ?? this.list, isElsewhere: Boolean(at) });
    this.at = at ?? ((state) => [x, y].map((setting) => (setting ? state[setting.name] : 0)));
    this.ranges = { ...(x && { x: rangeOf(x) }), ...(y && { y: rangeOf(y) }) };
    this.shape = make("circle", { r: FINGER, class: "finger" });
    const attributes = { class: "handle", tabindex: 0, role: "slider", "aria-label": label };
    this.element = make("g", attributes, this.shape, make("circle", { r: 10, class: "grip" }));
    frame.part.svg.append(this.element);
    this.element.addEventListener("pointerdown", (event) => this.drag(event));
    const keepPage = (event) => event.preventDefault(); // a finger on it does not scroll, whatever CSS says of SVG
    this.element.addEventListener("touchstart", keepPage, { passive: false });
    this.element.addEventListener("keydown", (event) => this.press(event));
  }

  paint(state, numbers) {
    const area = this.frame.plot.areas[this.area];
    const [x, y] = this.at(state, numbers);
    this.element.setAttribute("transform", `translate(${area.px(x)} ${area.py(y)})`);
    this.element.setAttribute("aria-valuetext", this.say(state, numbers));
    const [axis, { name }] = this.axes[0];
    const { low, high, valueAt } = this.ranges[axis];
    const values = { now: state[name], min: valueAt(low), max: valueAt(high) };
    for (const [key, value] of Object.entries(values)) this.element.setAttribute(`aria-value${key}`, value);
  }

  list(state) {
    return this.axes.map(([, { label, name }]) => `${label ?? name} ${format(state[name])}`).join(", ");
  }

  get axes() {
    return Object.entries({ x: this.x, y: this.y }).filter(([, setting]) => setting);
  }

  drag(event) {
    event.preventDefault();
    this.element.focus({ preventScroll: true });
    this.element.setPointerCapture(event.pointerId);
    const box = this.element.getBoundingClientRect();
    const grip = [event.clientX - box.x - box.width / 2, event.clientY - box.y - box.height / 2]; // it need not jump
    const move = ({ clientX, clientY }) => this.follow(clientX - grip[0], clientY - grip[1]);
    this.element.addEventListener("pointermove", move);
    const stop = () => this.element.removeEventListener("pointermove", move);
    this.element.addEventListener("lostpointercapture", stop, { once: true });
  }

  follow(clientX, clientY) {
    const { left, top } = this.frame.part.svg.getBoundingClientRect();
    const [px, py] = [clientX - left, clientY - top];
    const area = this.frame.plot.areas[this.area];
    if (this.isElsewhere) return this.frame.set(this.search(area, px, py));
    const wanted = { x: area.x(px), y: area.y(py) };
    const moved = this.axes.map(([axis, { name }]) => [name, this.ranges[axis].nearest(wanted[axis])]);
    return this.frame.set(Object.fromEntries(moved));
  }

  // Of all values that it may take, the one with which it stands nearest to the pointer.
  search(area, px, py) {
    const { figure, state, data } = this.frame;
    const [[axis, { name }]] = this.axes;
    const away = (value) => {
      const tried = { ...state, [name]: value };
      const [x, y] = this.at(tried, figure.model(tried, data));
      return Math.hypot(area.px(x) - px, area.py(y) - py);
    };
    const values = this.ranges[axis].values();
    return { [name]: values.reduce((best, value) => (away(value) < away(best) ? value : best)) };
  }

  // As a slider does: with one range every arrow moves it, with two each its own, and the far keys move the first.
  press(event) {
    const [arrow, far] = [KEYS[event.key], FAR_KEYS[event.key]];
    if (!(arrow || far) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const times = event.shiftKey ? 10 : 1;
    const [across, up] = arrow ? arrow.map((steps) => steps * times) : [far, 0];
    const one = this.axes.length === 1 && across + up;
    const by = { x: one || across, y: one || up };
    const moved = this.axes.map(([axis, { name }]) => [name, this.ranges[axis].move(this.frame.state[name], by[axis])]);
    this.frame.set(Object.fromEntries(moved));
  }

  read(texts) {
    return this.axes.map(([axis, { name }]) => [name, this.ranges[axis].read(texts[name])]);
  }
}
