// Predict: the question before a step, what to choose from, and what an answer says about who gave it.
import { nameOf } from "./describe.js";
import { format, looksEqual, total } from "./numbers.js";
import { plural, sayTimes } from "./words.js";

// The question before a step, or nothing where there is nothing to work out.
export function ask(step, graph) {
  const name = nameOf(graph, step.node);
  if (step.kind === "seed" || (step.kind === "turn" && step.terms.length < 2)) return null;
  if (step.kind === "pick") return "Which node goes next?";
  if (step.kind === "send")
    return `${graph.nodes[step.node].label} has v = ${format(step.v)}. What does it send to ${nameOf(graph, step.to)}?`;
  const there = step.terms.map(format).join(" and ");
  if (step.kind === "turn") return `${there} have arrived at ${name}. What is its v?`;
  if (step.stale) return `${name}.grad held ${format(step.terms[0])}. What does it hold now?`;
  return `${there} have arrived at ${name}. What is ${name}.grad?`;
}

export const answerOf = (step) => (step.kind === "send" ? step.amount : total(step.terms));

// What to choose from: {text, answer}, four at most; an answer is a number, or a node's id where a node is asked for.
export function choices(step, graph, values) {
  if (step.kind === "pick") {
    const ids = [...step.waiting.slice(0, 2).map(({ id }) => id), ...[...step.ready].reverse()].slice(0, 4);
    return ids.sort((a, b) => a - b).map((id) => ({ text: nameOf(graph, id), answer: id }));
  }
  const right = answerOf(step);
  const wrong = listMistakes(step, graph, values).map(([number]) => number);
  const all = [right, ...wrong, right * 2, right + 1, 0, 1, -1, 2].filter(Number.isFinite);
  const different = all.filter((number, i) => all.findIndex((other) => looksEqual(other, number)) === i);
  const four = different.slice(0, 4).sort((a, b) => a - b); // in order of size, so that place gives nothing away
  return four.map((number) => ({ text: format(number), answer: number }));
}

// {right, text}: what there is to say to an answer.
export function judge(answer, step, graph, values) {
  if (step.kind === "pick") return judgePick(answer, step, graph);
  if (looksEqual(answer, answerOf(step))) return { right: true, text: "Right!" };
  const found = listMistakes(step, graph, values).find(([number]) => looksEqual(answer, number));
  const hint =
    step.kind === "send" ? `Multiply v = ${format(step.v)} by the local derivative ${step.rule}.` : "Add up what arrived.";
  return { right: false, text: found ? found[1] : `Not ${format(answer)}. ${hint}` };
}

function judgePick(id, step, graph) {
  if (step.ready.includes(id)) return { right: true, text: "Right!" };
  const waits = step.waiting.find((node) => node.id === id);
  if (!waits) return { right: false, text: "That one has had its turn." };
  const users = waits.users.map((user) => nameOf(graph, user)).join(" and ");
  const { uses } = graph.nodes[id];
  const used = uses === 1 ? "It" : `It is used ${sayTimes(uses)}, and it`;
  return {
    right: false,
    text: `Not yet. ${used} still waits for the gradient from ${users}. If it ran now, that gradient would be lost.`,
  };
}

// The mistakes people make, each with the number it leads to and what to say about it.
export function listMistakes(step, graph, values) {
  if (step.kind !== "send") {
    const others = plural(step.terms.length - 1, "path", "paths");
    const forgot = `You forgot to add the other ${others}: where paths meet, gradients add.`;
    const product = step.terms.reduce((a, b) => a * b);
    const multiplied = "You multiplied the paths. Along a path we multiply; where paths meet we add.";
    return [...step.terms.map((term) => [term, forgot]), [product, multiplied]];
  }
  const both = `Here v and the local derivative are both ${format(step.v)}. You forgot to multiply one by the other.`;
  return [
    ...(looksEqual(step.v, step.local) ? [[step.v, both]] : []), // which of the two was forgotten cannot be known
    [step.local, `That is the local derivative alone. You forgot the upstream gradient: times v = ${format(step.v)}.`],
    [step.v, `You passed v on as it is. You forgot the local derivative ${step.rule} = ${format(step.local)}.`],
    [-step.amount, "Right size, wrong sign."],
    [step.v + step.local, "You added v and the local derivative. Along a path we multiply."],
    [step.v * values[step.node], "You multiplied by the value of the node. It is the derivative that counts."],
    [step.v * values[step.to], "You multiplied by the value of the input. It is the derivative that counts."],
  ];
}
