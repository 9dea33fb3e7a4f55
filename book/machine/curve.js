// The way of an edge, from the input's far side to the user's near side, as an SVG path.

export function curve({ from, to, points, twin }, { vertical, box, places }) {
  const half = vertical ? box.height / 2 : box.width / 2;
  const shift = (point, along, across = 0) =>
    vertical ? { x: point.x + across, y: point.y + along } : { x: point.x + along, y: point.y + across };
  const ends = [shift(places.get(from), half, twin * 9), ...points, shift(places.get(to), -half, twin * 9)];
  const bend = vertical ? 24 : 36; // control points along the graph make it leave and arrive straight
  return ends
    .map((point, i) => {
      if (!i) return `M${point.x} ${point.y}`;
      const a = shift(ends[i - 1], bend, twin * 22);
      const b = shift(point, -bend, twin * 22);
      return `C${a.x} ${a.y} ${b.x} ${b.y} ${point.x} ${point.y}`;
    })
    .join("");
}
