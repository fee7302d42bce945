/**
 * Reads attributes by name. A place in the code that always reads the same name is several times as fast as one that
 * reads many, so the first names of a process get places of their own. Nothing but speed depends on which they are.
 */

type Attributes = Readonly<Record<string, unknown>>;

const PLACES = 8;
const names: string[] = [];
let [a, b, c, d, e, f, g, h] = ["", "", "", "", "", "", "", ""];

/** What every object inherits. A name it does not know is an object's own, and V8 makes asking it cost nothing. */
const inherited = Object.prototype as unknown as Attributes;

/** The number of the name's place, 0 for those that share one. */
export function placeOf(name: string): number {
  if (!names.includes(name) && names.length < PLACES) {
    names.push(name);
    [a = "", b = "", c = "", d = "", e = "", f = "", g = "", h = ""] = names;
  }
  return names.indexOf(name) + 1;
}

/** The object's own property at the place of `named`. Its prototype has to be `Object.prototype`. */
export function readAt(
  attributes: Attributes,
  place: number,
  named: { readonly attribute: string },
): unknown {
  switch (place) {
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
