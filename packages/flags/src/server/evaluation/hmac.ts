/**
 * HMAC-SHA256 of ASCII texts, synchronously on every runtime: WebCrypto is asynchronous, and a bootstrap signs a token for
 * each of many flags. The two states after the key's block are computed once per key.
 */

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const ROUNDS: Int32Array = fractions(64, 1 / 3);
/** The same of the square roots of the first 8 primes. */
const START: Int32Array = fractions(8, 1 / 2);

const BLOCK_BYTES = 64;
const LENGTH_BYTES = 8;
const schedule = new Int32Array(64);
const block = new Uint8Array(BLOCK_BYTES);

/** Signs texts with one key. */
export type Signer = (text: string) => Uint8Array;

export function createSigner(key: Uint8Array): Signer {
  const short = key.length > BLOCK_BYTES ? digest(START, key, 0) : key;
  const [inner, outer] = [0x36, 0x5c].map((pad) => {
    const padded = Uint8Array.from({ length: BLOCK_BYTES }, (_, at) => (short[at] ?? 0) ^ pad);
    const state = START.slice();
    compress(state, padded, 0);
    return state;
  });
  if (inner === undefined || outer === undefined) throw new Error("An HMAC key has two states.");
  return (text) => {
    const bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
    return digest(outer, digest(inner, bytes, BLOCK_BYTES), BLOCK_BYTES);
  };
}

/** Continues from a state after `before` bytes, which are whole blocks. */
function digest(from: Int32Array, bytes: Uint8Array, before: number): Uint8Array {
  const state = from.slice();
  let at = 0;
  for (; at + BLOCK_BYTES <= bytes.length; at += BLOCK_BYTES) compress(state, bytes, at);
  block.fill(0);
  block.set(bytes.subarray(at));
  block[bytes.length - at] = 0x80;
  if (bytes.length - at + 1 > BLOCK_BYTES - LENGTH_BYTES) {
    compress(state, block, 0);
    block.fill(0);
  }
  const bits = (before + bytes.length) * 8;
  new DataView(block.buffer).setUint32(BLOCK_BYTES - 4, bits);
  new DataView(block.buffer).setUint32(BLOCK_BYTES - 8, Math.floor(bits / 2 ** 32));
  compress(state, block, 0);
  const result = new Uint8Array(32);
  const view = new DataView(result.buffer);
  for (let word = 0; word < 8; word++) view.setInt32(word * 4, state[word] ?? 0);
  return result;
}

const right = (word: number, by: number) => (word >>> by) | (word << (32 - by));
const at = (words: Int32Array, index: number) => words[index] ?? 0;

/** Without arrays and closures in its loops: every token takes several blocks. */
function compress(state: Int32Array, bytes: Uint8Array, from: number): void {
  for (let t = 0, next = from; t < 16; t++, next += 4) {
    const high = ((bytes[next] ?? 0) << 24) | ((bytes[next + 1] ?? 0) << 16);
    schedule[t] = high | ((bytes[next + 2] ?? 0) << 8) | (bytes[next + 3] ?? 0);
  }
  for (let t = 16; t < 64; t++) {
    const early = at(schedule, t - 15);
    const late = at(schedule, t - 2);
    const small = right(early, 7) ^ right(early, 18) ^ (early >>> 3);
    const large = right(late, 17) ^ right(late, 19) ^ (late >>> 10);
    schedule[t] = (at(schedule, t - 16) + small + at(schedule, t - 7) + large) | 0;
  }
  let a = at(state, 0);
  let b = at(state, 1);
  let c = at(state, 2);
  let d = at(state, 3);
  let e = at(state, 4);
  let f = at(state, 5);
  let g = at(state, 6);
  let h = at(state, 7);
  for (let t = 0; t < 64; t++) {
    const choice = (e & f) ^ (~e & g);
    const one =
      (h + (right(e, 6) ^ right(e, 11) ^ right(e, 25)) + choice + at(ROUNDS, t) + at(schedule, t)) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const two = ((right(a, 2) ^ right(a, 13) ^ right(a, 22)) + majority) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + two) | 0;
  }
  state[0] = (at(state, 0) + a) | 0;
  state[1] = (at(state, 1) + b) | 0;
  state[2] = (at(state, 2) + c) | 0;
  state[3] = (at(state, 3) + d) | 0;
  state[4] = (at(state, 4) + e) | 0;
  state[5] = (at(state, 5) + f) | 0;
  state[6] = (at(state, 6) + g) | 0;
  state[7] = (at(state, 7) + h) | 0;
}

function fractions(count: number, exponent: number): Int32Array {
  const words = new Int32Array(count);
  for (let prime = 2, found = 0; found < count; prime++) {
    let isPrime = true;
    for (let divisor = 2; divisor * divisor <= prime; divisor++) if (prime % divisor === 0) isPrime = false;
    if (!isPrime) continue;
    const root = prime ** exponent;
    words[found] = Math.floor((root - Math.floor(root)) * 2 ** 32);
    found += 1;
  }
  return words;
}
