/**
 * Attribute slots: fast reads of attributes by name. V8 reads a property several times faster at a code location that
 * always reads the same name, so the first 8 names of a process each get a location (a slot). Only speed depends on it.
 */

type Attributes = Readonly<Record<string, unknown>>;

const SLOTS = 8;
const names: string[] = [];
let [a, b, c, d, e, f, g, h] = ["", "", "", "", "", "", "", ""];

/** A name that `Object.prototype` does not have can only be an own property. V8 makes this check free. */
const inherited = Object.prototype as unknown as Attributes;

/** The slot of the name: 1 to 8, or 0 for the names that have none. */
export function slotOf(name: string): number {
  if (!names.includes(name) && names.length < SLOTS) {
    names.push(name);
    [a = "", b = "", c = "", d = "", e = "", f = "", g = "", h = ""] = names;
  }
  return names.indexOf(name) + 1;
}

/** Reads an own property. `attributes` must have the prototype `Object.prototype`; `slot` is that of the name. */
export function readSlot(
  attributes: Attributes,
  slot: number,
  named: { readonly attribute: string },
): unknown {
  switch (slot) {
    case 1:
      if (inherited[a] === undefined) return attributes[a];
      break;
    case 2:
      if (inherited[b] === undefined) return attributes[b];
      break;
    case 3:
      if (inherited[c] === undefined) return attributes[c];
      break;
    case 4:
      if (inherited[d] === undefined) return attributes[d];
      break;
    case 5:
      if (inherited[e] === undefined) return attributes[e];
      break;
    case 6:
      if (inherited[f] === undefined) return attributes[f];
      break;
    case 7:
      if (inherited[g] === undefined) return attributes[g];
      break;
    case 8:
      if (inherited[h] === undefined) return attributes[h];
      break;
  }
  const name = named.attribute;
  return Object.hasOwn(attributes, name) ? attributes[name] : undefined;
}
