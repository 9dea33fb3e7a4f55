// Numbers as they are shown, added up and compared.

export function format(number) {
  if (!Number.isFinite(number)) return Number.isNaN(number) ? "nan" : number > 0 ? "inf" : "-inf";
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return number.toExponential(1).replace("e+", "e");
  return String(Number(number.toPrecision(size >= 100 ? 5 : 3)));
}

// In few digits, where they are measures and nobody checks a sum.
export const brief = (number, digits = 3) => format(Number(number.toPrecision(digits)));

export const total = (terms) => terms.reduce((sum, term) => sum + term, 0);

const difference = (a, b, least) => Math.abs(a - b) / Math.max(least, Math.abs(a), Math.abs(b));

// The same but for rounding.
export const isEqual = (a, b) => Object.is(a, b) || a === b || difference(a, b, 1) <= 1e-9;

// The same in the digits that are shown, which is all that anybody can type.
export const looksEqual = (a, b) => format(a) === format(b) || difference(a, b, 1e-3) <= 0.006;
