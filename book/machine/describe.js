// Names and formulas. Each node gets `formula` (what it does), `label` (the same with its name) and `ref` (how others
// speak of it).

const LEVEL = { "+": 1, "-": 1, "*": 2, "/": 2, neg: 3, "**": 4 }; // how tightly it binds
const LONGEST = 8; // letters of an unnamed value, told as an input of another; longer ones get a name of their own

export function describe(nodes) {
  const taken = new Set(nodes.map((node) => node.name));
  let next = 1;
  for (const node of nodes) {
    node.formula = writeFormula(node, nodes);
    if (!node.name && node.uses && node.inputs.length && node.formula.length > LONGEST) {
      while (taken.has(`h${next}`)) next += 1;
      node.name = `h${next++}`;
    }
    node.ref = node.name ?? (LEVEL[node.op] ? `(${node.formula})` : node.formula);
    node.label = node.name && node.inputs.length ? `${node.name} = ${node.formula}` : node.formula;
  }
}

function writeFormula({ op, name, value, inputs }, nodes) {
  if (op === "leaf") return name;
  if (op === "const") return String(value);
  const level = LEVEL[op];
  const side = (slot, least) => {
    const input = nodes[inputs[slot]];
    if (input.name) return input.name;
    return (LEVEL[input.op] ?? 9) < least ? `(${input.formula})` : input.formula;
  };
  if (op === "neg") return `-${side(0, level)}`;
  if (!level) return `${op}(${side(0, 0)})`;
  const sign = level === 1 ? ` ${op} ` : op;
  return op === "**" ? side(0, 5) + sign + side(1, 3) : side(0, level) + sign + side(1, level + 1);
}

// What a node is called in a sentence.
export const nameOf = (graph, id) => graph.nodes[id].name ?? graph.nodes[id].label;
