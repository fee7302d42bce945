/** Entity tags of bootstraps: a client that polls gets 304 without a body while nothing has changed. */

/** 64 bits of a text. Computed once for texts that are sent often. */
export interface TextHash {
  readonly low: number;
  readonly high: number;
}

/** Large odd numbers, so that each step changes all bits. */
const LOW = 2_654_435_761;
const HIGH = 1_597_334_677;

export function hashText(text: string): TextHash {
  let [low, high] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    low = Math.imul(low ^ unit, LOW);
    high = Math.imul(high ^ unit, HIGH);
  }
  return { low: spread(low ^ (high >>> 13)), high: spread(high ^ (low >>> 13)) };
}

/** The last characters of a text would otherwise only change its upper bits. */
function spread(bits: number): number {
  const mixed = Math.imul(bits ^ (bits >>> 16), LOW);
  return mixed ^ (mixed >>> 13);
}

/** Weak, because responses with the same tag differ in the time of the evaluation. Contains nothing that the response does not show. */
export class EntityTag {
  #low = 1;
  #high = 2;

  add({ low, high }: TextHash): void {
    this.#low = spread(Math.imul(this.#low, LOW) ^ low);
    this.#high = spread(Math.imul(this.#high, HIGH) ^ high);
  }

  toString(): string {
    return `W/"${hex(this.#low)}${hex(this.#high)}"`;
  }
}

function hex(bits: number): string {
  return (bits >>> 0).toString(16).padStart(8, "0");
}

/** Whether the header `if-none-match` names the tag, by the weak comparison. */
export function matchesTag(header: string | null, tag: string): boolean {
  if (header === null) return false;
  const opaque = tag.replace(/^W\//, "");
  return (
    header.trim() === "*" || header.split(",").some((given) => given.trim().replace(/^W\//, "") === opaque)
  );
}
