(() => {
  if (customElements.get("bp-stepper")) return; // another figure on this page brought it
  const BUTTONS = { Home: "First", ArrowLeft: "Back", ArrowRight: "Next", End: "Last" };
  customElements.define("bp-stepper", class extends HTMLElement {
    connectedCallback() {
      // While the page is being read, the element is connected before its children are there.
      if (document.readyState === "loading") addEventListener("DOMContentLoaded", () => this.start(), { once: true });
      else this.start();
    }
    start() {
      if (this.steps) return; // moved, not made
      this.querySelectorAll(".bp-bar, .bp-ask, .bp-said").forEach((old) => old.remove()); // from a page saved as it was shown
      this.steps = [...this.querySelectorAll("li")];
      this.graph = this.querySelector(".bp-graph");
      this.bar = document.createElement("div");
      this.bar.className = "bp-bar";
      for (const [key, word] of Object.entries(BUTTONS)) {
        const button = document.createElement("button");
        Object.assign(button, { type: "button", textContent: word, onclick: () => this.press(key) });
        button.dataset.key = key;
        this.bar.append(button);
      }
      this.predict = document.createElement("button");
      Object.assign(this.predict, { type: "button", textContent: "Predict", title: "Ask for each number before it shows" });
      this.predict.setAttribute("aria-pressed", "false");
      this.predict.onclick = () => this.predict.setAttribute("aria-pressed", !this.predicts());
      this.count = document.createElement("a"); // its address leads to this step
      this.name = `backward-${1 + [...document.querySelectorAll("bp-stepper")].indexOf(this)}-step-`;
      this.bar.append(this.predict, this.count);
      this.form = document.createElement("form");
      this.form.className = "bp-ask";
      this.form.hidden = true;
      this.form.onsubmit = (event) => this.judge(event);
      this.said = document.createElement("p");
      this.said.className = "bp-said";
      this.said.setAttribute("aria-live", "polite");
      this.querySelector(".bp-panel").prepend(this.bar, this.form, this.said);
      this.graph.tabIndex = 0;
      this.graph.setAttribute("role", "group");
      this.graph.setAttribute("aria-label", "The graph. Arrow keys step through it.");
      this.addEventListener("keydown", (event) => {
        if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || !BUTTONS[event.key]) return;
        if (event.target.matches("input")) return;
        event.preventDefault();
        event.stopPropagation(); // the page and the notebook have uses for these keys, too
        this.press(event.key);
      });
      this.graph.addEventListener("click", (event) => {
        const box = event.target.closest("[data-step]");
        if (box) this.show(parseInt(box.dataset.step), true); // of several visits, the first
      });
      this.setAttribute("ready", "");
      this.show(0, false);
      const go = () => {
        const at = parseInt(location.hash.split(`#${this.name}`)[1]) - 1;
        if (!this.steps[at]) return; // the address speaks of something else
        this.show(at, false);
        this.scrollIntoView({ block: "nearest" });
      };
      addEventListener("hashchange", go);
      go();
    }
    predicts() {
      return this.predict.getAttribute("aria-pressed") === "true";
    }
    ask(at) {
      // What the step is about is said, what comes of it is not: the drawing is as before it.
      this.show(at, false, true);
      const label = document.createElement("label");
      this.input = document.createElement("input");
      const check = document.createElement("button");
      check.textContent = "Check";
      label.append(`${this.steps[at].dataset.ask} `, this.input);
      this.form.replaceChildren(label, check);
      this.input.focus();
    }
    judge(event) {
      event.preventDefault();
      const answer = parseFloat(this.steps[this.at].dataset.answer);
      const guess = parseFloat(this.input.value.replace("\u2212", "-"));
      if (Number.isNaN(guess)) return;
      const right = Math.abs(guess - answer) <= 0.01 * Math.abs(answer);
      this.show(this.at, true);
      this.form.hidden = false;
      this.form.textContent = right ? "Right." : `Not ${guess}. Read how it comes about.`;
      this.said.textContent = `${this.form.textContent} ${this.said.textContent}`;
      this.bar.querySelector("[data-key=ArrowRight]").focus();
    }
    press(key) {
      const last = this.steps.length - 1;
      const to = { Home: 0, ArrowLeft: this.at - 1, ArrowRight: this.at + 1, End: last }[key];
      if (to < 0 || to > last || to === this.at) return;
      if (key === "ArrowRight" && this.predicts() && this.steps[to].dataset.ask) this.ask(to);
      else this.show(to, true);
    }
    show(at, announce, asking = false) {
      this.at = at;
      this.form.hidden = !asking;
      this.toggleAttribute("asking", asking);
      const seen = asking ? at - 1 : at;
      this.steps.forEach((step, i) => step.classList.toggle("now", i === at));
      for (const part of this.graph.querySelectorAll("[data-since], [data-step]")) {
        const { since, until, step } = part.dataset;
        part.classList.toggle("off", +since > seen || +until <= seen);
        part.classList.toggle("now", +since === at || (step ?? "").split(" ").includes(`${at}`));
      }
      for (const button of this.bar.querySelectorAll("[data-key]")) {
        // aria-disabled, not disabled: a button that is disabled while it has the focus swallows the keys.
        const back = button.dataset.key === "Home" || button.dataset.key === "ArrowLeft";
        button.setAttribute("aria-disabled", back ? at === 0 : at === this.steps.length - 1);
      }
      this.count.href = `#${this.name}${at + 1}`;
      this.count.textContent = `Step ${at + 1} of ${this.steps.length}`;
      const rows = [...this.steps[at].querySelectorAll("dd")];
      const words = rows.map((row) => `${row.previousElementSibling.textContent}: ${row.textContent}`);
      const heading = this.steps[at].querySelector(".bp-head").textContent;
      if (announce) this.said.textContent = `${this.count.textContent}. ${heading}. ${words.join(" ")}`;
      this.follow();
    }
    follow() {
      // Scroll the drawing, never the page.
      const box = this.graph.querySelector(".bp-box.now") || this.graph.querySelector(".bp-pill.now");
      const [own, seen] = [box.getBoundingClientRect(), this.graph.getBoundingClientRect()];
      const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
      this.graph.scrollBy({
        left: own.left + own.width / 2 - seen.left - seen.width / 2,
        top: own.top + own.height / 2 - seen.top - seen.height / 2,
        behavior: still ? "auto" : "smooth",
      });
    }
  });
})();
