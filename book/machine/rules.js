// Each operation: its value, and for each of its inputs the local derivative, as a number and in words, and where it
// blocks: nothing passes there, not even an infinite upstream gradient, as in torch.
// a and b are the inputs' values, out the value of the result; A, B and own are their names.
// The words are Python: a test evaluates them and expects the number.

const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const ONE = [() => 1, () => "1"];
const MINUS_ONE = [() => -1, () => "-1"];

export const RULES = {
  "+": [(a, b) => a + b, ONE, ONE],
  "-": [(a, b) => a - b, ONE, MINUS_ONE],
  "*": [(a, b) => a * b, [(a, b) => b, (A, B) => B], [(a) => a, (A) => A]],
  "/": [(a, b) => a / b, [(a, b) => 1 / b, (A, B) => `1/${B}`], [(a, b) => -a / b ** 2, (A, B) => `-${A}/${B}**2`]],
  "**": [
    (a, b) => a ** b,
    [(a, b) => b * a ** (b - 1), wordPower, (a, b) => b === 0],
    [(a, b, out) => out * Math.log(a), (A, B) => `${A}**${B} * log(${A})`, (a, b) => a === 0 && b >= 0],
  ],
  neg: [(a) => -a, MINUS_ONE],
  sin: [Math.sin, [Math.cos, (A) => `cos(${bare(A)})`]],
  cos: [Math.cos, [(a) => -Math.sin(a), (A) => `-sin(${bare(A)})`]],
  exp: [Math.exp, [(a, b, out) => out, (A, B, own) => own]],
  log: [Math.log, [(a) => 1 / a, (A) => `1/${A}`]],
  sqrt: [Math.sqrt, [(a, b, out) => 0.5 / out, (A, B, own) => `1/(2*${own})`]],
  tanh: [Math.tanh, [(a, b, out) => 1 - out ** 2, (A, B, own) => `(1 - ${own}**2)`]],
  relu: [(a) => Math.max(a, 0), [() => 1, (A) => `(1 if ${A} > 0 else 0)`, (a) => a <= 0]],
  sigmoid: [sigmoid, [(a, b, out) => out * (1 - out), (A, B, own) => `${own} * (1 - ${own})`]],
};

export const FUNCTIONS = Object.keys(RULES).filter((op) => /^[a-z]+$/.test(op) && op !== "neg");

function wordPower(A, B) {
  const n = Number(B);
  if (Number.isNaN(n)) return `${B} * ${A}**(${B} - 1)`;
  if (n === 0) return "0";
  return n === 2 ? `2*${A}` : `${B}*${A}**${Number((n - 1).toPrecision(12))}`;
}

// Between a function's own parentheses, none are needed around an input.
function bare(name) {
  return /^\([^()]*\)$/.test(name) ? name.slice(1, -1) : name;
}

export function applyRule(node, values) {
  const [a, b] = node.inputs.map((id) => values[id]);
  return RULES[node.op][0](a, b);
}

// What a node sends to one of its inputs: {local, rule, amount}, the local derivative, its words, and its product with v.
export function deriveLocally(graph, values, node, slot, v) {
  const [derivative, words, blocks] = RULES[node.op][slot + 1];
  const [a, b] = node.inputs.map((id) => values[id]);
  const [A, B] = node.inputs.map((id) => graph.nodes[id].ref);
  const rule = words(A, B, node.ref);
  if (blocks?.(a, b)) return { local: 0, rule, amount: 0 };
  const local = derivative(a, b, values[node.id]);
  return { local, rule, amount: v * local };
}
