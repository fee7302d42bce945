/** Stands in for a language model: the same question always gets the same words, one by one. */
import { setTimeout as delay } from "node:timers/promises";

const LEXICON =
  "anchor beam breeze buoy cable compass course current deck ebb fathom fleet gale harbour hatch helm hull jetty keel lantern ledger lighthouse mast mooring oar pilot pier quay reef rigging rope rudder sail shoal sextant spray stern tide vessel wake watch wave wind winch".split(
    " ",
  );
const WORDS = 240;

/** Yields the words after the first `from` ones. Stops when the signal is aborted. */
export async function* generate(
  question: string,
  from: number,
  wordMs: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let seed = [...question].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 2_147_483_647, 7);
  for (let n = 0; n < WORDS; n++) {
    seed = (seed * 48_271) % 2_147_483_647;
    const word = LEXICON[seed % LEXICON.length] ?? "";
    if (n < from) continue;
    yield n % 12 === 11 ? `${word}.` : word;
    await delay(wordMs, undefined, { signal });
  }
}
