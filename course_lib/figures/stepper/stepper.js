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
      this.querySelectorAll(".bp-bar, .bp-said").forEach((old) => old.remove()); // from a page saved as it was shown
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
      this.count = document.createElement("span");
      this.bar.append(this.count);
      this.said = document.createElement("p");
      this.said.className = "bp-said";
      this.said.setAttribute("aria-live", "polite");
      this.querySelector(".bp-panel").prepend(this.bar, this.said);
      this.graph.tabIndex = 0;
      this.graph.setAttribute("role", "group");
      this.graph.setAttribute("aria-label", "The graph. Arrow keys step through it.");
      this.addEventListener("keydown", (event) => {
        if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || !BUTTONS[event.key]) return;
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
    }
    press(key) {
      const last = this.steps.length - 1;
      const to = { Home: 0, ArrowLeft: this.at - 1, ArrowRight: this.at + 1, End: last }[key];
      if (to >= 0 && to <= last && to !== this.at) this.show(to, true);
    }
    show(at, announce) {
      this.at = at;
      this.steps.forEach((step, i) => step.classList.toggle("now", i === at));
      for (const part of this.graph.querySelectorAll("[data-since], [data-step]")) {
        const { since, until, step } = part.dataset;
        part.classList.toggle("off", +since > at || +until <= at);
        part.classList.toggle("now", +since === at || (step ?? "").split(" ").includes(`${at}`));
      }
      for (const button of this.bar.querySelectorAll("button")) {
        // aria-disabled, not disabled: a button that is disabled while it has the focus swallows the keys.
        const back = button.dataset.key === "Home" || button.dataset.key === "ArrowLeft";
        button.setAttribute("aria-disabled", back ? at === 0 : at === this.steps.length - 1);
      }
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
