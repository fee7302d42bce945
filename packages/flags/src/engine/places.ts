/**
 * Reads attributes by name. A place in the code that always reads the same name is several times as fast as one that
 * reads many, so the first names of a process get places of their own. Nothing but speed depends on which they are.
 */

type Attributes = Readonly<Record<string, unknown>>;

const PLACES = 4;
const names: string[] = [];
let first = "";
let second = "";
let third = "";
let fourth = "";

/** The number of the name's place, 0 for those that share one. */
export function placeOf(name: string): number {
  if (!names.includes(name) && names.length < PLACES) {
    names.push(name);
    [first = "", second = "", third = "", fourth = ""] = names;
  }
  return names.indexOf(name) + 1;
}

/** What `attributes[name]` gives, inherited or not. */
export function readAt(attributes: Attributes, name: string, place: number): unknown {
  switch (place) {
    case 1:
      return attributes[first];
    case 2:
      return attributes[second];
    case 3:
      return attributes[third];
    case 4:
      return attributes[fourth];
    default:
      return attributes[name];
  }
}
