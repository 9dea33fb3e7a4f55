// The state in the address.
import { makeHash, readFields } from "./fields.js";
import { readPairs, START, writePairs } from "./state.js";

const FLAGS = { predict: "predict", depthFirst: "depthfirst", keep: "keep" };

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
  const fields = readFields(id);
  if (fields.e === undefined) return null;
  return {
    ...structuredClone(START),
    text: fields.e.slice(0, 400),
    inputs: readPairs(fields.i),
    at: Math.max(0, Math.floor(Number(fields.s) || 0)),
    ...Object.fromEntries(Object.entries(FLAGS).map(([name, key]) => [name, fields[key] !== undefined])),
    held: readPairs(fields.held),
    picks: (fields.o ?? "").split(",").filter(Boolean).map(Number),
  };
}

export const makeAddress = (id, state) => makeHash(id, writeFields(state));
