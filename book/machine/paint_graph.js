// What each box and each edge shows at this moment.
import { fitting } from "./box.js";
import { isCalm } from "./motion.js";
import { format } from "./numbers.js";
import { writeSum } from "./words.js";

export function paintGraph(machine, terms, moving) {
  const { graph, drawing, part } = machine;
  for (const node of graph.drawn) paintNode(machine, node, terms.get(node.id), moving && !isCalm());
  for (const edge of drawing.plan.edges) paintEdge(machine, edge.id);
  const result = graph.nodes[graph.result];
  part.svg.setAttribute("aria-label", `Computational graph of ${result.label}. Its numbers are in the table below.`);
}

function paintNode(machine, node, terms, moving) {
  const { graph, drawing, state, steps, values } = machine;
  const step = steps[state.at - 1];
  const asked = machine.question && steps[state.at];
  const isLeaf = node.op === "leaf";
  const isFinal = isLeaf && machine.isFinished;
  const isOpen = asked?.kind === "pick" && [...asked.ready, ...asked.waiting.map(({ id }) => id)].includes(node.id);
  const isBad = isFinal && machine.wrong.some(({ name }) => name === node.name);
  const marks = {
    active: step?.node === node.id,
    reached: step?.to === node.id,
    final: isFinal,
    bad: isBad,
    candidate: isOpen,
  };
  const number = format(values[node.id]);
  const named = node.name && !isLeaf ? [`${node.name} = ${number}`, number] : [number];
  const value = isLeaf ? `‹ ${number} ›` : fitting(drawing.plan.box, named);
  drawing.setNode(node.id, {
    value,
    grad: shorten(machine, node, writeGradient(machine, node, terms), isBad),
    classes: Object.keys(marks)
      .filter((mark) => marks[mark])
      .join(" "),
    moving,
  });
}

// The whole sum where there is room, else its result, else the number alone.
function shorten({ drawing }, node, full, isBad) {
  if (!full) return "";
  const word = node.op === "leaf" ? "grad" : "v";
  const amount = full.split(" = ").pop();
  const short = [`${word} = ${amount}`, `${word} ${amount}`, amount];
  const wordings = full === amount ? short : [full, ...short];
  return fitting(drawing.plan.box, isBad ? wordings.map((text) => `✗ ${text}`) : wordings);
}

// "1 + 5 = 6", but "1 + 5 = ?" while that is the question; what came too late is named, and not added.
export function writeGradient(machine, node, terms) {
  const { state, steps } = machine;
  const next = steps[state.at];
  const isAsked = machine.question && ["turn", "leaf"].includes(next.kind) && next.node === node.id;
  const text = terms.length > 1 ? writeSum(terms) : terms.map(format).join("");
  const late = steps.slice(0, state.at).filter((step) => step.late && step.to === node.id);
  const shown = isAsked ? text.replace(/= .*/, "= ?") : text;
  return shown + late.map(({ amount }) => ` (late: ${format(amount)})`).join("");
}

function paintEdge(machine, id) {
  const { drawing, state, steps } = machine;
  const at = steps.findIndex((step) => step.kind === "send" && `${step.node}.${step.slot}` === id);
  const marks = { sent: at >= 0 && at < state.at, now: at === state.at - 1, asked: at === state.at && machine.question };
  marks.bad = marks.sent && steps[at].late;
  const classes = Object.keys(marks).filter((mark) => marks[mark]);
  const amount = marks.sent ? format(steps[at].amount) : marks.asked ? "?" : "";
  drawing.setEdge(id, { amount, classes: classes.join(" ") });
}
