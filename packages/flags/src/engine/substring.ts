/** Substring search in linear time. `String.includes` can compare every character of the part at every place of a text. */

/** Characters of a text that a search reads. */
export const MAX_SEARCHED_LENGTH: number = 4096;
/** Up to this many characters, `String.includes` is faster, whatever the text. */
const SHORT = 256;

/** Finds the part within the first `MAX_SEARCHED_LENGTH` characters of a text. */
export function createSearch(part: string): (text: string) => boolean {
  let prepared: Prepared | undefined;
  return (text) => {
    if (text.length <= SHORT) return text.includes(part);
    prepared ??= prepare(part);
    return search(text, prepared);
  };
}

interface Prepared {
  /** The part's UTF-16 code units. */
  readonly units: Uint16Array;
  /** For each prefix of the part, the length of its longest proper prefix that is also its suffix. */
  readonly borders: Uint16Array;
}

/** Knuth, Morris and Pratt's search: after a mismatch it continues with what the part and the text still share. */
function search(text: string, { units, borders }: Prepared): boolean {
  const end = Math.min(text.length, MAX_SEARCHED_LENGTH);
  const { length } = units;
  let matched = 0;
  for (let at = 0; at < end && matched < length; at++) {
    const unit = text.charCodeAt(at);
    while (matched > 0 && unit !== units[matched]) matched = borders[matched - 1] as number;
    if (unit === units[matched]) matched += 1;
  }
  return matched === length;
}

function prepare(part: string): Prepared {
  const units = Uint16Array.from({ length: part.length }, (_, at) => part.charCodeAt(at));
  const borders = new Uint16Array(part.length);
  let length = 0;
  for (let at = 1; at < part.length; at++) {
    while (length > 0 && units[at] !== units[length]) length = borders[length - 1] as number;
    if (units[at] === units[length]) length += 1;
    borders[at] = length;
  }
  return { units, borders };
}
