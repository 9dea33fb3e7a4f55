// Questions that take an answer. The fields before a fold become a form, and what the fold says of a mistake becomes the
// verdict on it. A right answer opens the fold. Answers are kept in this browser, and checked again on the next visit.
// In a warm-up there is nothing to submit: each field is judged as soon as something is pressed.
(() => {
  const UNREADABLE = "Write a number, such as 3.5, 2/3 or 1e6.";
  const TOKEN = /(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?|\S/gi;
  const SIGNS = {
    "+": [1, (a, b) => a + b],
    "-": [1, (a, b) => a - b],
    "*": [2, (a, b) => a * b],
    "/": [2, (a, b) => a / b],
    "^": [3, (a, b) => a ** b],
  };

  // Read 48, 1,024, 2/3 or 2^21 - 1; anything else is NaN.
  function readNumber(text) {
    const plain = text.replace(/[\u2212\u2013]/g, "-").replace(/[\u00b7\u00d7]/g, "*").replaceAll("**", "^");
    const tokens = /,(?!\d{3}(?!\d))/.test(plain) ? [] : (plain.match(TOKEN) ?? []);
    const one = () => {
      const first = tokens.shift() ?? "";
      if (first === "-") return -sum(2);
      if (first !== "(") return /\d/.test(first) ? Number(first.replaceAll(",", "")) : NaN;
      const inner = sum(1);
      return tokens.shift() === ")" ? inner : NaN;
    };
    const sum = (least) => {
      let left = one();
      while (SIGNS[tokens[0]]?.[0] >= least) {
        const [strength, compute] = SIGNS[tokens.shift()];
        left = compute(left, sum(strength === 3 ? 3 : strength + 1)); // powers group from the right
      }
      return left;
    };
    const value = sum(1);
    return tokens.length ? NaN : value;
  }

  const isWithin = (x, [low, high]) => low - 1e-9 * Math.abs(low) <= x && x <= high + 1e-9 * Math.abs(high);

  const make = (tag, attributes, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };

  // A field gives its answer as it is kept, and the place of that answer: 0 is right, then come the fold's mistakes, and
  // what is none of them is -1.
  function makeNumberField(box, { spans, unit }) {
    const input = make("input", { type: "text", required: "", autocomplete: "off", spellcheck: "false", size: "9" });
    const value = () => {
      const text = input.value.trim();
      return readNumber(unit && text.endsWith(unit) ? text.slice(0, -unit.length) : text);
    };
    const refuse = () => input.setCustomValidity(Number.isFinite(value()) ? "" : UNREADABLE);
    input.addEventListener("input", refuse);
    const said = box.querySelector("p")?.childNodes ?? ["Your answer"];
    const after = unit ? [unit === "%" ? "%" : ` ${unit}`] : [];
    box.replaceChildren(make("p", { class: "bp-row" }, make("label", {}, ...said, " ", input, ...after)));
    return {
      answer: () => input.value,
      place: () => spans.findIndex((span) => isWithin(value(), span)),
      otherwise: () => `The answer is ${value() > spans[0][1] ? "less" : "more"} than that.`,
      fill(answer) {
        input.value = answer;
        refuse();
      },
    };
  }

  function makeChoiceField(box, { right }, name) {
    const inputs = [...box.querySelectorAll("li")].map((item) => {
      const input = make("input", { type: "radio", required: "", name });
      const said = item.querySelector("p") ?? item;
      item.replaceChildren(make("label", {}, input, make("span", {}, ...said.childNodes)));
      return input;
    });
    const text = (input) => input.labels[0].textContent.trim(); // kept in words: the order may change
    box.setAttribute("role", "radiogroup");
    box.setAttribute("aria-label", box.querySelector(":scope > p")?.textContent ?? "Choose one");
    return {
      answer: () => text(inputs.find((input) => input.checked)),
      place() {
        const chosen = inputs.findIndex((input) => input.checked);
        return chosen === right ? 0 : chosen + (chosen < right);
      },
      fill: (answer) => inputs.forEach((input) => (input.checked = text(input) === answer)),
    };
  }

  // The buttons of a warm-up's field, each with its item of the list.
  const makeButtons = (box, press) =>
    [...box.querySelectorAll("li")].map((item, i) => {
      const button = make("button", { type: "button" }, ...(item.querySelector("p") ?? item).childNodes);
      button.addEventListener("click", () => {
        press(i);
        box.dispatchEvent(new Event("answered", { bubbles: true }));
      });
      item.replaceChildren(button);
      return button;
    });

  // A row of a warm-up: what is right lights up in the colour of its pass, what was wrong stays crossed out. Who has found
  // it may still ask why another is wrong.
  function makeRowField(box, { right, tones }) {
    let chosen = -1;
    const press = (i) => {
      chosen = i;
      buttons.forEach((button, at) => button.setAttribute("aria-pressed", at === i));
      buttons[i].className = i === right ? `lit ${tones[i]}` : "missed";
      if (i === right) box.classList.add("lit", ...[tones[i]].filter(Boolean));
    };
    const buttons = makeButtons(box, press);
    return {
      answer: () => buttons[box.matches(".lit") ? right : chosen]?.textContent ?? "",
      place: () => (chosen === right ? 0 : chosen === -1 ? -1 : chosen + (chosen < right)),
      fill: (answer) => buttons.forEach((button, i) => button.textContent === answer && press(i)),
    };
  }

  // An order: what comes next is pressed, and moves to the end of the line, which is drawn as it grows.
  function makeOrderField(box, { order, tones }) {
    const line = make("ol", { class: "bp-line", "aria-label": "So far" });
    const pool = box.querySelector("ul");
    pool.before(line);
    let missed = -1;
    const press = (i) => {
      const next = line.children.length;
      missed = order[i] === next ? -1 : order[i];
      if (missed !== -1) return;
      const item = buttons[i].parentElement;
      item.replaceChildren(...buttons[i].childNodes);
      item.className = tones[next];
      line.append(item);
      box.classList.toggle("lit", next + 1 === buttons.length);
      pool.querySelector("button")?.focus(); // the one that was pressed is gone
    };
    const buttons = makeButtons(box, press);
    const texts = buttons.map((button) => button.textContent);
    return {
      answer: () => [...line.children].map((item) => item.textContent).join("\n"),
      place: () => (missed !== -1 ? missed + 1 : line.children.length < buttons.length ? null : 0),
      fill: (answer) => answer.split("\n").forEach((text) => texts.includes(text) && press(texts.indexOf(text))),
    };
  }

  // A sign, and in words what is wrong: the fold's own, without the answer that it speaks of.
  function judge(field, list) {
    const place = field.place();
    const verdict = make("p", { class: "bp-verdict" }, make("b", {}, place ? "Not yet." : "Right."), " ");
    verdict.classList.toggle("right", !place);
    if (place === null) verdict.append("What comes next?");
    if (place === -1) verdict.append(field.otherwise());
    if (place > 0) {
      const said = (list.children[place - 1].querySelector("p") ?? list.children[place - 1]).cloneNode(true);
      said.querySelector("strong").remove();
      said.firstChild.data = said.firstChild.data.replace(/^:\s*/, "");
      verdict.append(...said.childNodes);
    }
    return verdict;
  }

  function remember(name, answers) {
    const all = bookMemory.get("answers", {});
    all[bookMemory.page] = { ...all[bookMemory.page], [name]: answers };
    bookMemory.set("answers", all);
  }

  function makeForm(fold, boxes, settings) {
    const name = fold.querySelector("summary").textContent.replace("Answer", "Question");
    const form = make("form", { class: "bp-question", "aria-label": name });
    fold.before(form);
    form.append(...boxes);
    const fields = settings.map((setting, i) =>
      (setting.spans ? makeNumberField : makeChoiceField)(boxes[i], setting, `${name}, ${i + 1}`),
    );
    const button = make("button", { type: "submit" }, "Check");
    (boxes.at(-1).querySelector(".bp-row") ?? boxes.at(-1)).append(button);
    const verdicts = boxes.map((box) => box.appendChild(make("div", { role: "status" })));
    const lists = fold.querySelectorAll(".bp-mistakes ul");

    const check = () => {
      fields.forEach((field, i) => verdicts[i].replaceChildren(judge(field, lists[i])));
      return fold.classList.toggle("bp-done", fields.every((field) => field.place() === 0));
    };
    form.addEventListener("input", ({ target }) => {
      verdicts[boxes.findIndex((box) => box.contains(target))].replaceChildren(); // it spoke of another answer
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (check()) fold.open = true;
      remember(name, fields.map((field) => field.answer()));
    });
    const kept = bookMemory.get("answers", {})[bookMemory.page]?.[name];
    if (kept) {
      fields.forEach((field, i) => field.fill(kept[i] ?? ""));
      if (form.checkValidity()) check();
    }
  }

  // A warm-up, whose card is there: name and fold come from it.
  function makeWarmUp(card, fold, boxes, settings) {
    const name = card.querySelector(".bp-warm-head p").textContent;
    card.setAttribute("role", "group");
    card.setAttribute("aria-label", `Warm-up: ${name}`);
    card.classList.add("ready");
    const lists = fold.querySelectorAll(".bp-mistakes :is(ul, ol)");
    const verdicts = boxes.map((box) => make("div", { role: "status" }));
    const fields = settings.map((setting, i) => {
      boxes[i].setAttribute("role", "group");
      boxes[i].setAttribute("aria-label", boxes[i].querySelector("p").textContent);
      return (setting.order ? makeOrderField : makeRowField)(boxes[i], setting);
    });
    boxes.forEach((box, i) => box.append(verdicts[i]));
    const check = (i) => {
      verdicts[i].replaceChildren(judge(fields[i], lists[i]));
      return fold.classList.toggle("bp-done", boxes.every((box) => box.matches(".lit")));
    };
    card.addEventListener("answered", ({ target }) => {
      if (check(boxes.indexOf(target))) fold.open = true;
      remember(name, fields.map((field) => field.answer()));
    });
    const kept = bookMemory.get("answers", {})[bookMemory.page]?.[name] ?? [];
    fields.forEach((field, i) => {
      if (!kept[i]) return;
      field.fill(kept[i]);
      if (field.answer()) check(i);
    });
  }

  for (const fold of document.querySelectorAll("details[data-fields]")) {
    const settings = JSON.parse(fold.dataset.fields);
    const boxes = [];
    for (let at = fold; boxes.length < settings.length; ) boxes.unshift((at = at.previousElementSibling));
    const card = fold.closest(".bp-warm");
    if (card) makeWarmUp(card, fold, boxes, settings);
    else if (boxes.length) makeForm(fold, boxes, settings);
  }
})();
