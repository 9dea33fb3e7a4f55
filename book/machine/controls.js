// What a person does, by pointer or keyboard, and which of the machine's actions it calls.
import { makeAddress, readAddress } from "./address.js";
import { onAddress } from "./fields.js";
import { paint, saveSoon } from "./paint.js";
import { EXAMPLES } from "./state.js";

export function listen(machine) {
  const { part, root } = machine;
  const by = {
    next: () => (machine.pause(), machine.next()),
    back: () => (machine.pause(), machine.back()),
    play: () => machine.togglePlay(),
    restart: () => machine.restart(),
    link: () => copyLink(machine),
  };
  for (const [name, action] of Object.entries(by)) part[name].addEventListener("click", action);
  root.addEventListener("keydown", (event) => press(event, machine, by));
  for (const name of ["predict", "depthFirst", "keep"])
    part[name].addEventListener("change", () => machine.flip(name, part[name].checked));
  part.text.addEventListener("input", () => start(machine, part.text.value, machine.state.inputs));
  part.example.addEventListener("change", () => choose(machine, part.example.value));
  part.question.addEventListener("submit", (event) => {
    event.preventDefault();
    if (part.guess.value.trim()) machine.answer(Number(part.guess.value.replace(",", ".").replace("−", "-")));
  });
  part.svg.addEventListener("click", ({ target }) => {
    const node = target.closest(".candidate");
    if (node) machine.answer(Number(node.dataset.node));
  });
  listenToThePage(machine);
}

function start(machine, text, inputs) {
  machine.load({ ...machine.state, text, inputs, at: 0, held: {}, picks: [] });
}

function choose(machine, value) {
  if (value === "page") start(machine, machine.asked.text, machine.asked.inputs);
  else if (EXAMPLES[value]) start(machine, ...EXAMPLES[value].slice(1));
}

// Keys are the machine's while the focus is in it, but for fields that need them; elsewhere they are the page's.
function press(event, machine, by) {
  const { key, target } = event;
  const isTyping = target.matches("input:not([type=checkbox]), textarea, select");
  if (machine.part.walk.inert || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
  const walk = { ArrowRight: by.next, ArrowLeft: by.back, p: by.play, Home: by.restart };
  const pick = machine.question && /^[1-4]$/.test(key) && machine.part.choices.children[key - 1];
  const action = key === "End" ? () => machine.go(machine.steps.length) : (walk[key] ?? (pick && (() => pick.click())));
  if (!action) return;
  event.preventDefault();
  event.stopPropagation();
  action();
}

function listenToThePage(machine) {
  const { part } = machine;
  onAddress(() => {
    const sent = readAddress(machine.id);
    if (!sent || location.hash === makeAddress(machine.id, machine.state)) return;
    machine.load(sent);
    machine.root.scrollIntoView({ block: "start" });
  });
  const redraw = () => {
    if (!machine.drawing || Math.abs(part.walk.clientWidth - machine.across) < 20) return;
    machine.draw();
    paint(machine);
  };
  new ResizeObserver(redraw).observe(part.walk);
  // Paper shows the end of the walk, and all numbers.
  let at = null;
  addEventListener("beforeprint", () => {
    if (at !== null || !machine.steps) return;
    at = machine.state.at;
    if (!at) machine.state.at = machine.steps.length;
    part.all.open = true;
    paint(machine);
  });
  addEventListener("afterprint", () => {
    if (at === null) return;
    [machine.state.at, at, part.all.open] = [at, null, false];
    paint(machine);
  });
}

async function copyLink(machine) {
  saveSoon(machine, 0);
  const link = location.href.split("#")[0] + makeAddress(machine.id, machine.state);
  try {
    await navigator.clipboard.writeText(link);
    machine.part.link.textContent = "Copied";
  } catch {
    machine.part.link.textContent = "Copy it from the address"; // no permission, or not a secure page
  }
  machine.voice.say(machine.part.link.textContent);
  setTimeout(() => (machine.part.link.textContent = "Copy link"), 2500);
}
