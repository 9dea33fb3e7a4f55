// What the figure says of a step. Words only, so that a test, a screen reader and a translator can all get at them.
import { nameOf } from "./describe.js";
import { format, total } from "./numbers.js";

const addUp = (terms) =>
  terms.map((term, i) => (i && term < 0 ? `- ${format(-term)}` : i ? `+ ${format(term)}` : format(term))).join(" ");
export const writeSum = (terms) => `${addUp(terms)} = ${format(total(terms))}`;
export const sayTimes = (n) => (n === 2 ? "twice" : `${n} times`);
export const plural = (n, one, many) => (n === 1 ? one : many);
const enclose = (number) => (number < 0 ? `(${format(number)})` : format(number));

// {head, rule, note, bad}: what happens, the arithmetic, why it matters, and whether it goes wrong.
export function tell(step, graph) {
  return { seed: tellSeed, pick: tellPick, turn: tellTurn, send: tellSend, leaf: tellLeaf }[step.kind](step, graph);
}

function tellSeed(step, graph) {
  const name = nameOf(graph, step.node);
  return {
    head: `Start at the end: ${name} receives the seed`,
    rule: /^\w+$/.test(name) ? `v = d${name}/d${name} = 1` : "v = 1",
    note: "v is the upstream gradient: how much the result changes with this value.",
  };
}

function tellPick(step, graph) {
  const [late] = step.waiting;
  return {
    head: `${nameOf(graph, step.node)} goes next`,
    rule: `${nameOf(graph, late.id)} has ${late.has} of ${graph.nodes[late.id].uses} gradients`,
    note: "A node runs when every node that uses its value has sent a gradient. That is a topological order.",
  };
}

function tellTurn(step, graph) {
  const name = nameOf(graph, step.node);
  const { uses } = graph.nodes[step.node];
  return {
    head: `${name} has its turn`,
    rule: `v = ${writeSum(step.terms)}`,
    note: step.missing
      ? `Wrong! ${name} is used ${sayTimes(uses)}, and ${step.missing} more ${plural(step.missing, "gradient is", "gradients are")} on the way. It does not wait.`
      : `It is used ${sayTimes(uses)}. ${uses === 2 ? "Both" : `All ${uses}`} gradients have arrived, and they add up.`,
    bad: step.missing > 0,
  };
}

function tellLeaf(step, graph) {
  const name = nameOf(graph, step.node);
  return {
    head: `${name}.grad adds up`,
    rule: `${name}.grad = ${writeSum(step.terms)}`,
    note: step.stale
      ? `Stale! The ${format(step.terms[0])} is left over from the last backward().`
      : "Several paths lead to it, and their gradients add up.",
    bad: step.stale,
  };
}

function tellSend(step, graph) {
  const to = nameOf(graph, step.to);
  return {
    head: `${graph.nodes[step.node].label} sends ${format(step.amount)} to ${to}`,
    rule: `v * ${step.rule} = ${format(step.v)} * ${enclose(step.local)} = ${format(step.amount)}`,
    note: step.late
      ? `Too late! ${to} has had its turn. This ${format(step.amount)} goes no further.`
      : step.rule === "1"
        ? `${graph.nodes[step.node].op === "+" ? "A sum passes v on" : "A difference passes v to its first part"} unchanged.`
        : `Chain rule: upstream gradient v, times the local derivative ${step.rule}.`,
    bad: step.late,
  };
}

// The last word, when the walk is over.
export function conclude(truth, wrong, isLucky) {
  const list = (entries) => entries.map(([name, words]) => `${name}.grad ${words}`).join(", ");
  if (wrong.length)
    return `Done, and wrong: ${list(wrong.map(({ name, has, truth }) => [name, `is ${format(has)}, should be ${format(truth)}`]))}.`;
  const done = `Done: ${list(Object.entries(truth).map(([name, number]) => [name, `= ${format(number)}`]))}.`;
  return isLucky ? `${done} Right by luck: no result here is used twice. Try the example “Used twice”.` : done;
}
