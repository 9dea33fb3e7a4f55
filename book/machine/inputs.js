// The inputs: a slider for each, and its box in the graph, which can be dragged.

const LEAST_RANGE = 5; // of a slider, to either side of 0
const STEP = 0.1;
const PIXELS_PER_UNIT = 40;

const rangeOf = (value) => Math.max(LEAST_RANGE, Math.ceil(Math.abs(value)));

export function makeSliders(machine) {
  const { graph, state, part } = machine;
  part.inputs.replaceChildren(
    ...graph.leaves.map(({ name }) => {
      const range = document.createElement("input");
      const most = rangeOf(state.inputs[name]);
      Object.assign(range, { type: "range", min: -most, max: most, step: STEP, value: state.inputs[name] });
      range.addEventListener("input", () => machine.setInput(name, Number(range.value)));
      const label = document.createElement("label");
      label.dataset.input = name;
      label.append(name, range, document.createElement("output"));
      return label;
    }),
  );
}

export function dragBoxes(machine) {
  for (const { id, name } of machine.graph.leaves) {
    const { group } = machine.drawing.boxes.get(id);
    group.addEventListener("pointerdown", (event) => drag(event, machine, name));
  }
}

function drag(event, machine, name) {
  const [start, from] = [event.clientX, machine.state.inputs[name]];
  const most = rangeOf(from);
  const target = event.currentTarget;
  target.setPointerCapture(event.pointerId);
  const move = ({ clientX }) => {
    const wanted = Math.round((from + (clientX - start) / PIXELS_PER_UNIT) / STEP) * STEP;
    machine.setInput(name, Math.max(-most, Math.min(most, wanted)));
  };
  target.addEventListener("pointermove", move);
  const stop = () => target.removeEventListener("pointermove", move);
  target.addEventListener("lostpointercapture", stop, { once: true });
}
