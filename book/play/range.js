// The numbers that a slider or a handle may take. With `base`, low, high and step are powers of it.

export function rangeOf({ min, max, step, base }) {
  const clamp = (place) => Math.min(max, Math.max(min, place));
  const places = Math.max(0, Math.ceil(-Math.log10(step)) + 1);
  const snap = (place) => Number((min + Math.round((clamp(place) - min) / step) * step).toFixed(places));
  const valueAt = (place) => (base ? Number((base ** snap(place)).toPrecision(base === 10 ? 3 : 12)) : snap(place));
  const placeOf = (value) => (base ? Math.log(value) / Math.log(base) : value);
  return {
    low: min,
    high: max,
    step,
    valueAt,
    placeOf,
    shareOf: (value) => (placeOf(value) - min) / (max - min),
    nearest: (value) => valueAt(placeOf(value)),
    values: () => Array.from({ length: Math.round((max - min) / step) + 1 }, (_, i) => valueAt(min + i * step)),
    move: (value, steps) => valueAt(placeOf(value) + steps * step),
    // From the address: a number, brought into the range, or nothing.
    read: (text) => (text && Number.isFinite(Number(text)) ? valueAt(placeOf(Number(text))) : undefined),
  };
}
