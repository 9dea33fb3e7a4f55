// Controls in the panel: sliders, choices, switches and buttons. Each has `element`, `paint` and, for the address, `read`.
import { format } from "../machine/numbers.js";
import { rangeOf } from "./range.js";

export function makeControl(control, frame) {
  if (control.options) return makeChoice(control, frame);
  if (control.press) return makeButton(control, frame);
  return control.max === undefined ? makeSwitch(control, frame) : makeSlider(control, frame);
}

function create(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html.trim();
  return holder.content.firstChild;
}

function makeSlider(control, frame) {
  const { name, label, say = format, notches = () => [], when } = control;
  const range = rangeOf(control);
  const id = `${frame.id}-${name}`;
  const element = create(`<div class="slider"><label for="${id}"></label><span class="value" aria-hidden="true"></span>
    <div class="track"><input type="range" id="${id}" min="${range.low}" max="${range.high}" step="${range.step}">
    <div class="notches" aria-hidden="true"></div></div></div>`);
  const [title, told, track] = element.children;
  const [input, notched] = track.children;
  title.textContent = label;
  input.addEventListener("input", () => frame.set({ [name]: range.valueAt(Number(input.value)) }));
  const paint = (state, numbers) => {
    input.value = range.placeOf(state[name]);
    told.textContent = say(state[name], state, numbers);
    input.setAttribute("aria-valuetext", told.textContent);
    input.disabled = when ? !when(state) : false;
    element.classList.toggle("off", input.disabled);
    notched.replaceChildren(...notches(state).map(([value, words]) => makeNotch(range.shareOf(value), words)));
  };
  return { element, paint, read: (texts) => [[name, range.read(texts[name])]] };
}

function makeNotch(share, words) {
  const notch = create(`<span class="notch"></span>`);
  notch.textContent = words;
  notch.style.setProperty("--share", share);
  notch.classList.toggle("end", share > 0.8);
  notch.hidden = share < 0 || share > 1;
  return notch;
}

function makeChoice({ name, label, options, when }, frame) {
  const group = `${frame.id}-${name}`;
  const element = create(`<fieldset class="choice"><legend></legend></fieldset>`);
  element.firstChild.textContent = label;
  const inputs = Object.entries(options).map(([value, words]) => {
    const option = create(`<label><input type="radio" name="${group}"><span></span></label>`);
    option.lastChild.textContent = words;
    option.firstChild.value = value;
    option.firstChild.addEventListener("change", () => frame.set({ [name]: value }));
    element.append(option);
    return option.firstChild;
  });
  const paint = (state) => {
    for (const input of inputs) input.checked = input.value === state[name];
    element.disabled = when ? !when(state) : false;
  };
  return { element, paint, read: (texts) => [[name, texts[name] in options ? texts[name] : undefined]] };
}

function makeSwitch({ name, label, when }, frame) {
  const element = create(`<label class="switch"><input type="checkbox"><span></span></label>`);
  const [input, words] = element.children;
  words.textContent = label;
  input.addEventListener("change", () => frame.set({ [name]: input.checked }));
  const paint = (state) => {
    input.checked = state[name];
    input.disabled = when ? !when(state) : false;
  };
  const meaning = { true: true, false: false };
  return { element, paint, read: (texts) => [[name, meaning[texts[name]]]] };
}

function makeButton({ label, press, when }, frame) {
  const element = create(`<button type="button"></button>`);
  element.textContent = label;
  element.addEventListener("click", () => frame.set(press(frame.state, frame.numbers)));
  return { element, paint: (state) => (element.disabled = when ? !when(state) : false) };
}
