// The question in the dock. The focus stays where it was, or goes to what took the place of what it was on.
import { choices } from "./questions.js";

export function paintQuestion(machine) {
  const { part, question, steps, state } = machine;
  const focused = document.activeElement;
  const wasInside = part.question.contains(focused);
  part.question.hidden = !question;
  part.dock.classList.toggle("asking", Boolean(question));
  if (!question) {
    if (wasInside) part.next.focus();
    return;
  }
  const step = steps[state.at];
  part.ask.textContent = question;
  part.verdict.textContent = "";
  part.guess.value = "";
  part.typed.hidden = step.kind === "pick";
  part.choices.replaceChildren(...choices(step, machine.graph, machine.values).map((choice) => makeButton(machine, choice)));
  if (wasInside) (focused === part.guess && !part.typed.hidden ? part.guess : part.choices.firstChild).focus();
}

function makeButton(machine, { text, answer }) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: text });
  button.dataset.answer = answer;
  button.addEventListener("click", () => machine.answer(answer));
  return button;
}
