// Values forward, gradients backward. The backward pass is a list of steps, so that a figure can stop at each:
//   seed  {node, amount}                                  the walk begins
//   pick  {node, ready, waiting}                          which node goes next, where there is something to decide
//   turn  {node, terms, missing}                          a value used more than once has its turn
//   send  {node, slot, to, v, local, amount, rule, late}  one gradient travels along one edge
//   leaf  {node, terms, stale}                            what .grad adds up to, where that is a sum
import { total } from "./numbers.js";
import { applyRule, deriveLocally } from "./rules.js";

export function forward(graph, inputs) {
  const values = [];
  for (const node of graph.nodes)
    values.push(node.op === "leaf" ? inputs[node.name] : node.op === "const" ? node.value : applyRule(node, values));
  return values;
}

// depthFirst: the wrong order. picks: nodes that somebody chose, in the order in which they were asked.
// held: what each .grad holds already. asksNext: with steps of the kind "pick".
export function backward(graph, values, { depthFirst = false, picks = [], held = {}, asksNext = false } = {}) {
  const walk = new Walk(graph, values);
  if (depthFirst) walk.goDepthFirst(graph.nodes[graph.result]);
  else walk.goInOrder([...picks], asksNext);
  walk.closeLeaves(held);
  return walk.steps;
}

class Walk {
  constructor(graph, values) {
    Object.assign(this, { graph, values, done: new Set(), v: new Map() });
    this.terms = new Map(graph.drawn.map((node) => [node.id, []]));
    this.terms.get(graph.result).push(1);
    this.steps = [{ kind: "seed", node: graph.result, amount: 1 }];
  }

  // A node has its turn when each of its uses has sent its gradient. Of several, the youngest goes first.
  goInOrder(picks, asksNext) {
    this.visit(this.graph.nodes[this.graph.result]);
    for (let open; (open = this.listOpen()).length; ) {
      const ready = open.filter((node) => this.terms.get(node.id).length === node.uses);
      const waiting = open.filter((node) => !ready.includes(node));
      const asks = waiting.length > 0; // else every answer is right
      const picked = asks && ready.find(({ id }) => id === picks[0]);
      if (asks) picks.shift();
      const node = picked || ready.at(-1);
      if (asks && asksNext) this.steps.push({ kind: "pick", node: node.id, ...this.tellTurns({ ready, waiting }) });
      this.visit(node);
    }
  }

  // The first try of most people, and wrong: go on from an input before the next input has received anything.
  goDepthFirst(node) {
    if (node.op === "leaf" || this.done.has(node.id)) return;
    this.takeTurn(node);
    for (const slot of this.trackedSlots(node)) {
      this.send(node, slot);
      this.goDepthFirst(this.graph.nodes[node.inputs[slot]]);
    }
  }

  listOpen() {
    return this.graph.drawn.filter((node) => node.op !== "leaf" && !this.done.has(node.id));
  }

  // Ids, and of those that wait, the users they wait for.
  tellTurns({ ready, waiting }) {
    const open = this.listOpen();
    const users = (node) => open.filter((user) => user.inputs.includes(node.id)).map((user) => user.id);
    return {
      ready: ready.map((node) => node.id),
      waiting: waiting.map((node) => ({ id: node.id, has: this.terms.get(node.id).length, users: users(node) })),
    };
  }

  visit(node) {
    this.takeTurn(node);
    for (const slot of this.trackedSlots(node)) this.send(node, slot);
  }

  takeTurn(node) {
    this.done.add(node.id);
    const terms = [...this.terms.get(node.id)];
    this.v.set(node.id, total(terms)); // what it has now is what it works with; later arrivals are lost
    if (node.uses > 1) this.steps.push({ kind: "turn", node: node.id, terms, missing: node.uses - terms.length });
  }

  send(node, slot) {
    const to = this.graph.nodes[node.inputs[slot]];
    const v = this.v.get(node.id);
    const passed = deriveLocally(this.graph, this.values, node, slot, v);
    const late = to.op !== "leaf" && this.done.has(to.id);
    this.terms.get(to.id).push(passed.amount);
    this.steps.push({ kind: "send", node: node.id, slot, to: to.id, v, ...passed, late });
  }

  trackedSlots(node) {
    return node.inputs.map((_, slot) => slot).filter((slot) => this.graph.nodes[node.inputs[slot]].tracked);
  }

  closeLeaves(held) {
    for (const leaf of this.graph.leaves) {
      const before = held[leaf.name] === undefined ? [] : [held[leaf.name]];
      const terms = [...before, ...this.terms.get(leaf.id)];
      if (terms.length > 1) this.steps.push({ kind: "leaf", node: leaf.id, terms, stale: before.length > 0 });
    }
  }
}

// What has arrived in time, after the first `count` steps: node id -> amounts; leaves begin with what they held.
export function listArrived(graph, steps, count, held = {}) {
  const terms = new Map(graph.drawn.map((node) => [node.id, []]));
  for (const leaf of graph.leaves) if (held[leaf.name] !== undefined) terms.get(leaf.id).push(held[leaf.name]);
  for (const step of steps.slice(0, count)) {
    if (step.kind === "seed") terms.get(step.node).push(step.amount);
    if (step.kind === "send" && !step.late) terms.get(step.to).push(step.amount);
  }
  return terms;
}

export function gradients(graph, inputs, options) {
  const steps = backward(graph, forward(graph, inputs), options);
  const terms = listArrived(graph, steps, steps.length, options?.held);
  return Object.fromEntries(graph.leaves.map((leaf) => [leaf.name, total(terms.get(leaf.id))]));
}
