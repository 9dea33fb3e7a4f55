// What a figure draws with: areas with axes of their own on one SVG, whose unit is a pixel of the page.

const NS = "http://www.w3.org/2000/svg";

export function make(tag, attributes = {}, ...children) {
  const element = document.createElementNS(NS, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

export class Plot {
  constructor(svg, layer) {
    Object.assign(this, { svg, layer });
  }

  begin(width) {
    Object.assign(this, { width, areas: {} });
    this.layer.replaceChildren();
  }

  get height() {
    return Number(this.svg.getAttribute("height"));
  }

  set height(height) {
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    this.svg.setAttribute("height", height);
  }

  // {left, top, width, height} in pixels; x and y: [from, to]; logX, logY. What leaves it is cut off.
  area(name, settings) {
    return (this.areas[name] = new Area(this, settings));
  }

  // Words anywhere, in pixels. `kind` is one or more classes of play.css: fwd, bwd, ink, soft; start, end; strong.
  text(x, y, words, kind = "") {
    this.layer.append(make("text", { x, y, class: kind }, words));
  }
}

function scale([from, to], [start, end], isLog) {
  const f = isLog ? Math.log10 : (value) => value;
  const unit = (end - start) / (f(to) - f(from));
  const back = (pixel) => f(from) + (pixel - start) / unit;
  return [(value) => start + (f(value) - f(from)) * unit, (pixel) => (isLog ? 10 ** back(pixel) : back(pixel))];
}

// Marks in the coordinates of the data.
class Area {
  constructor(plot, { left = 0, top = 0, width = plot.width, height, x, y, logX, logY }) {
    Object.assign(this, { plot, left, top, width, height });
    [this.px, this.x] = scale(x, [left, left + width], logX);
    [this.py, this.y] = scale(y, [top + height, top], logY);
    this.layer = make("svg", { x: left, y: top, width, height, viewBox: `${left} ${top} ${width} ${height}` });
    plot.layer.append(this.layer);
  }

  add(tag, attributes, kind) {
    this.layer.append(make(tag, { ...attributes, class: kind }));
  }

  line(points, kind) {
    const far = 1e4; // pixels: what is drawn is cut off long before
    const pixel = (value) => Math.max(-far, Math.min(far, value)).toFixed(2);
    const seen = points.filter((point) => point.every(Number.isFinite));
    this.add("polyline", { points: seen.map(([x, y]) => `${pixel(this.px(x))},${pixel(this.py(y))}`).join(" ") }, kind);
  }

  dot(x, y, radius, kind) {
    const [cx, cy] = [this.px(x), this.py(y)];
    if (Math.abs(cx) < 1e4 && Math.abs(cy) < 1e4) this.add("circle", { cx, cy, r: radius }, kind);
  }

  ellipse(x, y, acrossBy, upBy, kind) {
    const [rx, ry] = [this.px(x + acrossBy) - this.px(x), this.py(y) - this.py(y + upBy)];
    this.add("ellipse", { cx: this.px(x), cy: this.py(y), rx, ry }, kind);
  }

  arrow(from, to, kind) {
    this.line([from, to], kind);
    const [[x1, y1], [x2, y2]] = [from, to].map(([x, y]) => [this.px(x), this.py(y)]);
    const turn = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
    this.add("path", { d: "M2 0L-9 -6L-9 6z", transform: `translate(${x2} ${y2}) rotate(${turn})` }, `${kind} head`);
  }

  // A path of SVG, in the data's coordinates.
  shape(d, kind) {
    const [x, y] = [this.px(1) - this.px(0), this.py(1) - this.py(0)];
    const transform = `translate(${this.px(0)} ${this.py(0)}) scale(${x} ${y})`;
    this.add("path", { d, transform, "vector-effect": "non-scaling-stroke" }, kind);
  }

  // share: how opaque it is, where that says how much.
  rect([x1, y1], [x2, y2], kind, share = 1) {
    const [left, right] = [this.px(x1), this.px(x2)].sort((a, b) => a - b);
    const [top, bottom] = [this.py(y1), this.py(y2)].sort((a, b) => a - b);
    const size = { width: right - left, height: bottom - top };
    this.add("rect", { x: left, y: top, ...size, "fill-opacity": share }, kind);
  }

  // dx, dy: pixels away from the point.
  text(x, y, words, kind = "", [dx, dy] = [0, 0]) {
    this.plot.text(this.px(x) + dx, this.py(y) + dy, words, kind);
  }

  // A line across the area at a value, with its words outside: below it, or to its left.
  xTick(x, words) {
    this.line([[x, this.y(this.top)], [x, this.y(this.top + this.height)]], "axis");
    this.plot.text(this.px(x), this.top + this.height + 16, words, "soft");
  }

  yTick(y, words) {
    this.line([[this.x(this.left), y], [this.x(this.left + this.width), y]], "axis");
    this.plot.text(this.left - 6, this.py(y) + 5, words, "soft end");
  }
}
