// From text to a graph. Python's precedence: `-x**2` is `-(x**2)`, and `**` groups from the right.
// A node is {id, op, inputs, name?, value?, tracked, uses}; inputs are ids, always smaller than the node's own.
import { describe } from "./describe.js";
import { FUNCTIONS } from "./rules.js";

const TOKEN = /\s*(?:((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|[-+*/()=]))/y;
const TOO_MANY = 24; // boxes; more do not fit a screen, and nobody would walk them

export class ParseError extends Error {}

function listTokens(line) {
  const found = [];
  TOKEN.lastIndex = 0;
  while (line.slice(TOKEN.lastIndex).trim()) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(line);
    if (!match) throw new ParseError(complainAbout(line.slice(at).trim()));
    found.push({ number: match[1], name: match[2], sign: match[3] });
  }
  return found;
}

const complainAbout = (rest) =>
  rest.startsWith("^") ? "For a power write **, as in x**2." : `I cannot read “${rest}”.`;

class Reader {
  constructor() {
    this.nodes = [];
    this.names = new Map();
  }

  add(op, inputs, extra = {}) {
    const tracked = op === "leaf" || inputs.some((id) => this.nodes[id].tracked);
    this.nodes.push({ id: this.nodes.length, op, inputs, tracked, ...extra });
    return this.nodes.length - 1;
  }

  line(text) {
    this.rest = listTokens(text);
    const target = this.rest[1]?.sign === "=" && this.rest[0].name;
    if (target) this.rest.splice(0, 2);
    const id = this.sum();
    const [more] = this.rest;
    if (more?.name || more?.sign === "(") throw new ParseError(`Write * before “${writeToken(more)}” to multiply.`);
    if (more) throw new ParseError(`I did not expect “${writeToken(more)}” there.`);
    if (target) this.assign(target, id);
    return id;
  }

  assign(name, id) {
    if (FUNCTIONS.includes(name)) throw new ParseError(`“${name}” is a function here. Choose another name.`);
    if (this.names.has(name)) throw new ParseError(`“${name}” already stands for something. Choose another name.`);
    this.names.set(name, id);
    if (this.nodes[id].inputs.length) this.nodes[id].name ??= name; // `b = a` is a second name for one value
  }

  take(...signs) {
    return signs.includes(this.rest[0]?.sign) ? this.rest.shift().sign : undefined;
  }

  sum() {
    let left = this.product();
    for (let sign; (sign = this.take("+", "-")); ) left = this.add(sign, [left, this.product()]);
    return left;
  }

  product() {
    let left = this.signed();
    for (let sign; (sign = this.take("*", "/")); ) left = this.add(sign, [left, this.signed()]);
    return left;
  }

  signed() {
    if (this.take("+")) return this.signed();
    return this.take("-") ? this.add("neg", [this.signed()]) : this.power();
  }

  power() {
    const base = this.atom();
    return this.take("**") ? this.add("**", [base, this.signed()]) : base;
  }

  atom() {
    const token = this.rest.shift();
    if (!token) throw new ParseError("Something is missing at the end.");
    if (token.number) return this.add("const", [], { value: Number(token.number) });
    if (token.sign === "(") return this.inside();
    if (!token.name) throw new ParseError(`I did not expect “${writeToken(token)}” there.`);
    if (this.take("(")) return this.call(token.name);
    if (FUNCTIONS.includes(token.name)) throw new ParseError(`${token.name} needs parentheses: ${token.name}(x).`);
    if (!this.names.has(token.name)) this.names.set(token.name, this.add("leaf", [], { name: token.name }));
    return this.names.get(token.name);
  }

  call(name) {
    if (FUNCTIONS.includes(name)) return this.add(name, [this.inside()]);
    if (this.names.has(name)) throw new ParseError(`Write ${name}*( … ) to multiply.`);
    throw new ParseError(`I do not know ${name}(). I know ${FUNCTIONS.join(", ")}.`);
  }

  inside() {
    const id = this.sum();
    if (!this.take(")")) throw new ParseError("A closing parenthesis is missing.");
    return id;
  }
}

const writeToken = (token) => token.number ?? token.name ?? token.sign;

export function parse(text) {
  const lines = text.split(/[\n;]/).filter((line) => line.trim());
  if (!lines.length) throw new ParseError("Type an expression, such as x**2 + y**3.");
  const reader = new Reader();
  const result = lines.map((line) => reader.line(line)).pop();
  return finish(reader.nodes, result);
}

// Keeps what leads to the result; marks how often each value is used on the way there.
function finish(nodes, result) {
  if (!nodes[result].inputs.length) throw new ParseError("That computes nothing. Try x**2.");
  if (!nodes[result].tracked) throw new ParseError("There is no name in it, so nothing to differentiate. Try x**2.");
  const needed = new Set([result]);
  for (const node of [...nodes].reverse()) if (needed.has(node.id)) node.inputs.forEach((id) => needed.add(id));
  const drawn = nodes.filter((node) => needed.has(node.id) && node.tracked);
  if (drawn.length > TOO_MANY) throw new ParseError(`That makes ${drawn.length} boxes; ${TOO_MANY} fit.`);
  for (const node of nodes) node.uses = 0;
  for (const node of drawn) for (const id of node.inputs) nodes[id].uses += 1;
  describe(nodes);
  return { nodes, result, drawn, leaves: drawn.filter((node) => node.op === "leaf") };
}
