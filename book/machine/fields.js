// Fields in the address, after "#". Several figures share it: each field begins with the id of its figure.

// Other hashes are headings of the page on which the figures stand.
const isOurs = () => location.hash.includes("=");

// Somebody goes to another address, by a link or by hand: it wins over what a figure saved before the page heard of it.
export function onAddress(act) {
  addEventListener("hashchange", ({ newURL }) => {
    if (location.href !== newURL) history.replaceState(null, "", newURL);
    act();
  });
}

// The fields of one figure, by name; none if the address does not speak of it.
export function readFields(id) {
  const all = isOurs() ? [...new URLSearchParams(location.hash.slice(1))] : [];
  const own = all.filter(([key]) => key.startsWith(`${id}.`));
  return Object.fromEntries(own.map(([key, value]) => [key.slice(id.length + 1), value]));
}

// The address with these fields of a figure, and those of the others as they are in it.
export function makeHash(id, fields) {
  const old = isOurs() ? [...new URLSearchParams(location.hash.slice(1))] : [];
  const kept = old.filter(([key]) => !key.startsWith(`${id}.`));
  const own = Object.entries(fields).map(([name, value]) => [`${id}.${name}`, value]);
  return `#${new URLSearchParams([...kept, ...own])}`;
}
