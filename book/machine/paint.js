// The whole screen from the state: the graph, what is said, the question, the table, the address.
import { makeAddress } from "./address.js";
import { listArrived } from "./engine.js";
import { nameOf } from "./describe.js";
import { format } from "./numbers.js";
import { paintGraph, writeGradient } from "./paint_graph.js";
import { paintQuestion } from "./paint_question.js";
import { conclude, tell } from "./words.js";

const SAVE_AFTER = 250; // milliseconds: browsers refuse more than a few addresses a second

export function paint(machine, moving = false) {
  const { graph, state, steps } = machine;
  const terms = listArrived(graph, steps, state.at, state.held);
  paintGraph(machine, terms, moving);
  paintInputs(machine);
  paintWords(machine);
  paintControls(machine);
  paintQuestion(machine);
  paintTable(machine, terms);
  saveSoon(machine);
}

function paintInputs({ part, state }) {
  for (const label of part.inputs.children) {
    const value = state.inputs[label.dataset.input];
    label.querySelector("input").value = value;
    label.querySelector("output").textContent = format(value);
  }
}

// {head, rule, note, end, bad} of the moment.
export function sayMoment(machine) {
  const { graph, state, steps, values } = machine;
  const step = steps[state.at - 1];
  const end = machine.isFinished ? conclude(machine.truth, machine.wrong, isLucky(machine)) : "";
  if (step) return { ...tell(step, graph), end };
  const isSecond = Object.keys(state.held).length > 0;
  const note = isSecond
    ? "backward() has run once, and nobody called zero_grad(). Run it again."
    : "The forward pass has run. backward() asks: how does the result change with each input?";
  return { head: "Forward", rule: `${nameOf(graph, graph.result)} = ${format(values[graph.result])}`, note, end };
}

// The wrong order, where it happens to be right.
const isLucky = ({ state, steps }) => state.depthFirst && !steps.some((step) => step.late);

function paintWords(machine) {
  const { part, praise, state } = machine;
  const { head, rule, note, end, bad } = sayMoment(machine);
  const { right, asked } = machine.score;
  const score = machine.isFinished && state.predict && asked ? ` You predicted ${right} of ${asked}.` : "";
  part.head.textContent = praise ? `${praise} ${head}` : head;
  part.rule.textContent = rule;
  part.note.textContent = note;
  part.end.textContent = end + score;
  part.told.classList.toggle("bad", Boolean(bad));
  part.told.classList.toggle("ends-wrong", machine.wrong.length > 0);
  part.told.classList.toggle("first", !state.at);
  part.told.classList.toggle("held", Object.keys(state.held).length > 0);
}

function paintControls({ part, state, steps, score, question, isFinished }) {
  part.back.disabled = state.at === 0;
  part.restart.disabled = state.at === 0 && !Object.keys(state.held).length;
  part.play.disabled = state.predict;
  part.next.textContent = isFinished ? "Run again" : question ? "Show me" : state.at ? "Next" : "backward()";
  part.progress.max = steps.length;
  part.progress.value = state.at;
  part.count.textContent = `${state.at} of ${steps.length}`;
  part.score.textContent = state.predict && score.asked ? `${score.right} of ${score.asked} right` : "";
}

function paintTable(machine, terms) {
  const { graph, part, values } = machine;
  const rows = graph.drawn.map((node) => {
    const row = document.createElement("tr");
    for (const text of [node.label, format(values[node.id]), writeGradient(machine, node, terms.get(node.id)) || "–"])
      row.insertCell().textContent = text;
    return row;
  });
  part.table.replaceChildren(...rows);
}

// The page's own state needs no address, until something else has been in it.
export function saveSoon(machine, after = SAVE_AFTER) {
  clearTimeout(machine.saving);
  const own = makeAddress(machine.id, machine.state);
  machine.first ??= own;
  if (own === machine.first && !location.hash.includes(`${machine.id}.e=`)) return;
  machine.saving = setTimeout(() => history.replaceState(null, "", makeAddress(machine.id, machine.state)), after);
}
