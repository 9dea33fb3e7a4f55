// What is worth sending to somebody: the expression, its inputs, the step, the switches.

export const EXAMPLES = [
  ["Two paths", "z = x*y + sin(x)", { x: 2, y: 3 }],
  ["The smallest case", "z = x**2 + y**3", { x: 2, y: 3 }],
  ["Used twice", "a = x**2\nc = a + 5*a", { x: 4 }],
  ["A fit with one weight", "r = w*x - y\nloss = r**2", { w: 0.5, x: 2, y: 3 }],
  ["A neuron", "s = w*x + b\np = sigmoid(s)\nloss = -log(p)", { w: 1, x: 2, b: -1 }],
  ["The same input twice", "z = x*x", { x: 3 }],
  ["A dead ReLU", "h = relu(w*x)\nloss = (h - 1)**2", { w: -1, x: 2 }],
  ["Vanishing", "a = tanh(3*x)\nb = tanh(3*a)\nc = tanh(3*b)", { x: 1 }],
];

// at: steps done; held: what each .grad held before; picks: nodes chosen where the figure asked which goes next.
export const START = { at: 0, predict: false, depthFirst: false, keep: false, held: {}, picks: [] };

export const readPairs = (text) =>
  Object.fromEntries(
    (text ?? "")
      .split(",")
      .map((pair) => pair.split(/[:=]/).map((part) => part.trim()))
      .filter(([name, value]) => name && value && Number.isFinite(Number(value)))
      .map(([name, value]) => [name, Number(value)]),
  );

export const writePairs = (pairs) =>
  Object.entries(pairs)
    .map(([name, value]) => `${name}:${Number(value.toPrecision(6))}`)
    .join(",");

// The state that a page asks for, from the element's attributes.
export function readElement({ dataset }) {
  const switches = { predict: "predict" in dataset, depthFirst: "depthFirst" in dataset, keep: "keep" in dataset };
  const text = dataset.expression ?? EXAMPLES[0][1];
  return { ...structuredClone(START), ...switches, text, inputs: readPairs(dataset.inputs) };
}
