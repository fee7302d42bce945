/** MurmurHash3 (x86, 32 bits, seed 0) of a text, and a faster variant for an id followed by a precomputed suffix. */

const C1 = 0xcc9e2d51;
const C2 = 0x1b873593;
const C3 = 0xe6546b64;

const encoder = new TextEncoder();

/** The hash of the text's UTF-8 bytes, as an unsigned integer. A lone surrogate is hashed as U+FFFD. */
export function murmur3(text: string): number {
  const bytes = encoder.encode(text);
  return finish(hashBytes(0, bytes), bytes.length);
}

/**
 * The precomputed suffix of a hash input. An id can end at 4 offsets within a 4-byte word, so `words` has 4 sections:
 * [first bytes, which complete the id's last word; number of whole words; mixed remainder; mixed words…].
 */
export interface Suffix {
  readonly text: string;
  readonly byteLength: number;
  /** Empty when the text has fewer than four bytes. A plain array takes one allocation, an `Int32Array` three. */
  readonly words: readonly number[];
  /** The length of one section of `words`. */
  readonly stride: number;
  /** The hash of the suffix alone, for an empty id. */
  readonly alone: number;
}

const WORD = 4;

export function prepareSuffix(text: string): Suffix {
  const bytes = encoder.encode(text);
  const { length } = bytes;
  const stride = 3 + (length >>> 2);
  const words = Array.from({ length: length < WORD ? 0 : WORD * stride }, () => 0);
  for (let filled = 0; filled < WORD && words.length > 0; filled++) {
    const first = WORD - filled;
    const whole = (length - first) >>> 2;
    const rest = first + whole * WORD;
    const at = filled * stride;
    words[at] = word(bytes, 0, first) << (8 * filled);
    words[at + 1] = whole;
    words[at + 2] = rest < length ? mix(word(bytes, rest, length - rest)) : 0;
    for (let index = 0; index < whole; index++) {
      words[at + 3 + index] = mix(word(bytes, first + index * WORD, WORD));
    }
  }
  return { text, byteLength: length, words, stride, alone: murmur3(text) };
}

/** Equals `murmur3(id + suffix.text)`. For an ASCII id of 4 or more characters it does not build that text. */
export function murmur3After(id: string, suffix: Suffix): number {
  const { length } = id;
  const { words } = suffix;
  if (length > MAX_SHORT_ID) return murmur3AfterLong(id, suffix);
  if (length < WORD || words.length === 0) {
    return length === 0 ? suffix.alone : murmur3(id + suffix.text);
  }
  const end = length & ~3;
  let hash = 0;
  let allBits = 0;
  for (let index = 0; index < end; index += WORD) {
    const a = id.charCodeAt(index);
    const b = id.charCodeAt(index + 1);
    const c = id.charCodeAt(index + 2);
    const d = id.charCodeAt(index + 3);
    allBits |= a | b | c | d;
    hash = join(hash, mix(a | (b << 8) | (c << 16) | (d << 24)));
  }
  const filled = length & 3;
  let last = 0;
  // One branch instead of one per byte: most ids of an application have the same length, so the CPU predicts it.
  if (filled !== 0) {
    const b = id.charCodeAt(length - 3);
    const c = id.charCodeAt(length - 2);
    const d = id.charCodeAt(length - 1);
    allBits |= b | c | d;
    last = (b | (c << 8) | (d << 16)) >>> (8 * (3 - filled));
  }
  if (allBits > 0x7f) return murmur3(id + suffix.text);
  const at = filled * suffix.stride;
  hash = join(hash, mix(last | (words[at] as number)));
  const limit = at + 3 + (words[at + 1] as number);
  for (let index = at + 3; index < limit; index++) hash = join(hash, words[index] as number);
  return finish(hash ^ (words[at + 2] as number), length + suffix.byteLength);
}

/** Characters. All flags of a bootstrap hash the same ids, so what takes longer is hashed once. */
const MAX_SHORT_ID = 64;

/** The hash after the whole words of a long id, and its bytes after them. */
interface LongId {
  readonly hash: number;
  readonly rest: Uint8Array;
  readonly byteLength: number;
}

/** Flags may differ in `bucketBy`. With more ids than this, each is short, because the context is limited. */
const MAX_LONG_IDS = 16;
const longIds = new Map<string, LongId>();

function murmur3AfterLong(id: string, { text, words, stride, byteLength }: Suffix): number {
  // The two halves of a character outside the basic plane have other bytes together than apart.
  if ((text.charCodeAt(0) & 0xfc00) === 0xdc00) return murmur3(id + text);
  const { hash: ofId, rest, byteLength: idLength } = longIds.get(id) ?? readLongId(id);
  const total = idLength + byteLength;
  const filled = rest.length;
  if (words.length === 0)
    return finish(hashBytes(ofId, Uint8Array.of(...rest, ...encoder.encode(text))), total);
  const at = filled * stride;
  let hash = join(ofId, mix(word(rest, 0, filled) | (words[at] as number)));
  const limit = at + 3 + (words[at + 1] as number);
  for (let index = at + 3; index < limit; index++) hash = join(hash, words[index] as number);
  return finish(hash ^ (words[at + 2] as number), total);
}

function readLongId(id: string): LongId {
  const bytes = encoder.encode(id);
  const end = bytes.length & ~3;
  const hash = hashBytes(0, bytes.subarray(0, end));
  const longId = { hash, rest: bytes.slice(end), byteLength: bytes.length };
  const [oldest] = longIds.size < MAX_LONG_IDS ? [] : longIds.keys();
  if (oldest !== undefined) longIds.delete(oldest);
  longIds.set(id, longId);
  return longId;
}

function hashBytes(start: number, bytes: Uint8Array): number {
  const end = bytes.length & ~3;
  let hash = start;
  for (let index = 0; index < end; index += WORD) hash = join(hash, mix(word(bytes, index, WORD)));
  return end < bytes.length ? hash ^ mix(word(bytes, end, bytes.length - end)) : hash;
}

/** Reads `count` bytes as a little-endian integer. */
function word(bytes: Uint8Array, at: number, count: number): number {
  let value = 0;
  for (let index = 0; index < count; index++) value |= (bytes[at + index] as number) << (8 * index);
  return value;
}

function mix(value: number): number {
  const product = Math.imul(value, C1);
  return Math.imul((product << 15) | (product >>> 17), C2);
}

function join(hash: number, mixed: number): number {
  const joined = hash ^ mixed;
  return (Math.imul((joined << 13) | (joined >>> 19), 5) + C3) | 0;
}

function finish(hash: number, length: number): number {
  let value = hash ^ length;
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
