// The state in the address, after "#". Several machines share it: each field begins with the id of its machine.
import { readPairs, START, writePairs } from "./state.js";

const FLAGS = { predict: "predict", depthFirst: "depthfirst", keep: "keep" };

const readFields = () => new URLSearchParams(location.hash.slice(1));

// Other hashes are headings of the page on which the machine stands.
const isOurs = (fields) => [...fields.keys()].some((key) => key.endsWith(".e"));

export function writeFields(state) {
  const fields = { e: state.text, i: writePairs(state.inputs) };
  if (state.at) fields.s = state.at;
  for (const [name, key] of Object.entries(FLAGS)) if (state[name]) fields[key] = 1;
  if (Object.keys(state.held).length) fields.held = writePairs(state.held);
  if (state.picks.length) fields.o = state.picks.join(",");
  return fields;
}

// The state of one machine, or nothing if the address does not speak of it.
export function readAddress(id) {
  const fields = readFields();
  const get = (key) => fields.get(`${id}.${key}`);
  if (get("e") === null) return null;
  return {
    ...structuredClone(START),
    text: get("e").slice(0, 400),
    inputs: readPairs(get("i")),
    at: Math.max(0, Math.floor(Number(get("s")) || 0)),
    ...Object.fromEntries(Object.entries(FLAGS).map(([name, key]) => [name, get(key) !== null])),
    held: readPairs(get("held")),
    picks: (get("o") ?? "").split(",").filter(Boolean).map(Number),
  };
}

// The address with the state of this machine, and of the others as they are in it.
export function makeAddress(id, state) {
  const old = readFields();
  const kept = isOurs(old) ? [...old].filter(([key]) => !key.startsWith(`${id}.`)) : [];
  const own = Object.entries(writeFields(state)).map(([key, value]) => [`${id}.${key}`, value]);
  return `#${new URLSearchParams([...kept, ...own])}`;
}
