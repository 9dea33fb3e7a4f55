// The figure's controls, in the place of the picture for those without JavaScript.

const TRY = "Try this first: drag <b>x</b>, then press <b>backward()</b>. Switch on <b>Predict</b> to guess each number.";

export function fill(root, { tryFirst = TRY, id }) {
  root.innerHTML = PARTS.replaceAll("ID", id);
  root.querySelector("[data-part=try]").innerHTML = tryFirst;
  return Object.fromEntries([...root.querySelectorAll("[data-part]")].map((element) => [element.dataset.part, element]));
}

const PARTS = `
<p class="try" data-part="try"></p>
<div class="top">
  <select data-part="example" aria-label="Example"></select>
  <label class="switch"><input type="checkbox" data-part="predict"> Predict</label>
  <span class="score" data-part="score"></span>
</div>
<textarea data-part="text" rows="1" spellcheck="false" autocapitalize="off" autocomplete="off"
  aria-label="Expression: one line, or several with names" aria-describedby="ID-complaint"></textarea>
<p class="complaint" id="ID-complaint" data-part="complaint" role="alert"></p>
<div class="inputs" data-part="inputs"></div>
<div class="walk" role="group" aria-label="The walk" data-part="walk">
  <div class="stage" data-part="stage" tabindex="0" role="group" aria-label="Graph: arrow keys walk">
    <svg data-part="svg" role="img"></svg>
  </div>
  <div class="dock" data-part="dock">
    <div class="told" data-part="told">
      <p class="head" data-part="head"></p>
      <p class="rule" data-part="rule"></p>
      <p class="why" data-part="note"></p>
      <p class="end" data-part="end"></p>
      <span class="count" data-part="count"></span>
    </div>
    <form class="question" data-part="question" hidden>
      <p class="ask" data-part="ask"></p>
      <div class="choices" data-part="choices"></div>
      <div class="typed" data-part="typed">
        <input data-part="guess" autocomplete="off" size="7" aria-label="Or type the number" placeholder="or type it"><button>Check</button>
      </div>
      <p class="verdict" data-part="verdict"></p>
    </form>
    <div class="controls">
      <button type="button" data-part="back" aria-label="Back one step">Back</button>
      <button type="button" class="main" data-part="next">Next</button>
      <button type="button" data-part="play">Play</button>
      <button type="button" data-part="restart">Restart</button>
    </div>
    <progress data-part="progress" aria-label="Steps done"></progress>
  </div>
  <p class="unseen" data-part="live" aria-live="polite"></p>
</div>
<div class="break" role="group" aria-label="Break it">
  <b>Break it</b>
  <label class="switch"><input type="checkbox" data-part="depthFirst"> depth-first order</label>
  <label class="switch"><input type="checkbox" data-part="keep"> forget <code>zero_grad()</code></label>
  <button type="button" data-part="link">Copy link</button>
</div>
<details data-part="all">
  <summary>All values and gradients</summary>
  <table>
    <thead><tr><th scope="col">value</th><th scope="col">forward</th><th scope="col">gradient that arrived</th></tr></thead>
    <tbody data-part="table"></tbody>
  </table>
</details>
<p class="keys">In the figure: <kbd>→</kbd> next, <kbd>←</kbd> back, <kbd>p</kbd> play, <kbd>Home</kbd> restart,
<kbd>End</kbd> all at once, <kbd>1</kbd> to <kbd>4</kbd> choose. The address holds what you see.</p>`;
