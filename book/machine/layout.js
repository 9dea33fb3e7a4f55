// Layers of boxes. Nothing of SVG here: it returns places, and points for each edge to go through.
import { boxSize } from "./box.js";

const SWEEPS = 6;

const NARROW = 480; // too little to stand left to right
const BROAD = 640; // enough for words beside the drawing

// Left to right where that fits; deep graphs stand better than they shrink. across: the room of the whole figure;
// stage: the room for the drawing if it stands beside the words.
export function plan(graph, { across, stage }) {
  const box = boxSize(graph);
  const flat = layOut(graph, { vertical: false, across, box });
  const vertical = across < NARROW || flat.scale < 0.8;
  const beside = vertical && across >= BROAD;
  const chosen = vertical ? layOut(graph, { vertical, across: beside ? stage : across, box }) : flat;
  return { ...chosen, box, vertical, beside };
}

// across: room for the boxes side by side; vertical: inputs on top, or else on the left.
function layOut(graph, { vertical, across, box }) {
  const layers = sortLayers(makeLayers(graph));
  const pitch = vertical ? box.width + 12 : box.height + 16;
  const spread = spreadOut(layers, pitch);
  const depth = vertical ? box.height + 46 : box.width + 66;
  const place = (cell) => {
    const side = spread.get(cell) + pitch / 2;
    const along = cell.layer * depth + (vertical ? box.height : box.width) / 2 + 8;
    return vertical ? { x: side, y: along } : { x: along, y: side };
  };
  const places = new Map();
  for (const cell of layers.flat()) if (cell.node) places.set(cell.node.id, place(cell));
  const side = Math.max(...spread.values()) + pitch;
  const along = (layers.length - 1) * depth + (vertical ? box.height : box.width) + 16;
  const [width, height] = vertical ? [side, along] : [along, side];
  return { places, edges: listEdges(graph, layers, place), width, height, scale: Math.min(1, across / width) };
}

// A value stands one layer after its last input; an input one before its first use, so that its edge is short.
function makeLayers(graph) {
  const layer = new Map();
  const tracked = (node) => node.inputs.filter((id) => graph.nodes[id].tracked);
  for (const node of graph.drawn)
    layer.set(node.id, node.op === "leaf" ? 0 : 1 + Math.max(...tracked(node).map((id) => layer.get(id))));
  for (const leaf of graph.leaves) {
    const users = graph.drawn.filter((node) => node.inputs.includes(leaf.id));
    layer.set(leaf.id, Math.min(...users.map((node) => layer.get(node.id))) - 1);
  }
  const layers = Array.from({ length: layer.get(graph.result) + 1 }, () => []);
  const cells = new Map();
  for (const node of graph.drawn) {
    const cell = { node, layer: layer.get(node.id), before: [], after: [] };
    cells.set(node.id, cell);
    layers[cell.layer].push(cell);
  }
  for (const node of graph.drawn)
    for (const [slot, id] of node.inputs.entries())
      if (graph.nodes[id].tracked) thread(cells.get(id), cells.get(node.id), slot, layers);
  return layers;
}

// An edge over several layers passes through an empty cell in each, so that no box stands in its way.
function thread(from, to, slot, layers) {
  let last = from;
  for (let layer = from.layer + 1; layer < to.layer; layer++) {
    const cell = { layer, before: [last], after: [], edge: `${to.node.id}.${slot}` };
    last.after.push(cell);
    layers[layer].push(cell);
    last = cell;
  }
  last.after.push(to);
  to.before.push(last);
}

// Fewer crossings: each layer in the order of the middles of its neighbours, back and forth.
function sortLayers(layers) {
  const index = new Map();
  const number = (layer) => layer.forEach((cell, i) => index.set(cell, i - (layer.length - 1) / 2));
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const [side, run] = sweep % 2 ? ["after", [...layers].reverse()] : ["before", layers];
    for (const layer of run) {
      const middle = new Map(
        layer.map((cell) => [cell, mean(cell[side].map((other) => index.get(other))) ?? index.get(cell)]),
      );
      layer.sort((a, b) => middle.get(a) - middle.get(b));
      number(layer);
    }
  }
  return layers;
}

// Each cell near the middle of its neighbours, none closer to the next than its size allows.
function spreadOut(layers, pitch) {
  const at = new Map();
  const room = (a, b) => (size(a) + size(b)) / 2;
  const size = (cell) => (cell.node ? pitch : pitch / 3);
  for (const layer of layers)
    layer.forEach((cell, i) => at.set(cell, i ? at.get(layer[i - 1]) + room(layer[i - 1], cell) : 0));
  for (let sweep = 0; sweep < 2 * SWEEPS; sweep++) {
    const side = sweep % 2 ? "after" : "before";
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) settle(layer, at, side, room);
  }
  const least = Math.min(...at.values());
  for (const cell of at.keys()) at.set(cell, at.get(cell) - least);
  return at;
}

function settle(layer, at, side, room) {
  const wish = layer.map((cell) => mean(cell[side].map((other) => at.get(other))) ?? at.get(cell));
  const right = [...wish];
  const left = [...wish];
  for (let i = 1; i < layer.length; i++) right[i] = Math.max(wish[i], right[i - 1] + room(layer[i - 1], layer[i]));
  for (let i = layer.length - 2; i >= 0; i--) left[i] = Math.min(wish[i], left[i + 1] - room(layer[i], layer[i + 1]));
  layer.forEach((cell, i) => at.set(cell, (left[i] + right[i]) / 2)); // both keep the distances, so their middle does
}

const mean = (numbers) => (numbers.length ? numbers.reduce((a, b) => a + b, 0) / numbers.length : undefined);

// For each edge, from input to user: {id, from, to, slot, points, twin}; twin tells x from x in x*x.
function listEdges(graph, layers, place) {
  const via = new Map();
  for (const cell of layers.flat()) if (cell.edge) via.set(cell.edge, [...(via.get(cell.edge) ?? []), place(cell)]);
  return graph.drawn.flatMap((node) =>
    node.inputs.flatMap((id, slot) => {
      if (!graph.nodes[id].tracked) return [];
      const twins = node.inputs.filter((other) => other === id).length;
      return [
        {
          id: `${node.id}.${slot}`,
          from: id,
          to: node.id,
          points: via.get(`${node.id}.${slot}`) ?? [],
          twin: twins > 1 ? slot * 2 - 1 : 0,
        },
      ];
    }),
  );
}
