/** Replaces what two runs of the same build never share: ids, salts, hashes, tokens and times of the run. */

/** Times of a run and of its sessions lie within this distance of the comparison; those that a script sends do not. */
const NEAR_MS = 20 * 24 * 60 * 60_000;

const ISO = String.raw`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)?`;
const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const HASH = "(?<![0-9A-Za-z])[0-9a-f]{64}(?![0-9A-Za-z])";
/** Signed or random text in base64url. */
const TOKEN = String.raw`[\w-]{40,}(?:\.[\w-]{22,})?`;
const ID = "(?<![0-9A-Za-z])[0-9A-Za-z]{32}(?![0-9A-Za-z])";
const EPOCH = String.raw`(?<![\w.-])\d{13}(?![\w.])`;
const MASKED = new RegExp(
  `(?<iso>${ISO})|(?<hash>${UUID}|${HASH})|(?<token>${TOKEN})|(?<id>${ID})|(?<epoch>${EPOCH})`,
  "g",
);

/** Masks what one build returns. Equal ids get equal numbers, in the order in which they first appear. */
export class Masker {
  readonly #numbers = new Map<string, number>();
  readonly #known: ReadonlySet<string>;
  readonly #nowMs: number;

  /** `known`: ids that both builds have from the start. They stay as they are. */
  constructor(known: ReadonlySet<string>, nowMs: number) {
    this.#known = known;
    this.#nowMs = nowMs;
  }

  mask(text: string): string {
    return this.#replace(text, (id) => {
      const number = this.#numbers.get(id) ?? this.#numbers.size + 1;
      this.#numbers.set(id, number);
      return `<id ${number}>`;
    });
  }

  /** Masks each text, and sorts them: ids that appear here first have no part in the order. */
  maskSorted(texts: readonly string[]): string[] {
    const ordered = texts.map((text) => {
      const seen = this.#replace(text, (id) => `<id ${this.#numbers.get(id) ?? "new"}>`);
      return { text, seen };
    });
    ordered.sort((a, b) => (a.seen < b.seen ? -1 : a.seen > b.seen ? 1 : 0));
    return ordered.map(({ text }) => this.mask(text));
  }

  #replace(text: string, nameOf: (id: string) => string): string {
    return text.replaceAll(MASKED, (found, ...rest) => {
      const { iso, hash, token, id = hash, epoch }: Record<string, string | undefined> = rest.at(-1);
      if (iso !== undefined) return this.#isNear(Date.parse(iso)) ? "<time>" : found;
      if (epoch !== undefined) return this.#isNear(Number(epoch)) ? "<time>" : found;
      if (token !== undefined) return isRandom(token) && !this.#known.has(token) ? "<token>" : found;
      return id === undefined || this.#known.has(id) ? found : nameOf(id);
    });
  }

  #isNear(ms: number): boolean {
    return Math.abs(ms - this.#nowMs) < NEAR_MS;
  }
}

/** Names in capitals, such as codes of errors, are as long. */
function isRandom(token: string): boolean {
  return /[a-z]/.test(token) && /[A-Z]/.test(token);
}

/** Every text that would be masked as an id or a token. */
export function listIds(text: string): Set<string> {
  const ids = new Set<string>();
  for (const { groups } of text.matchAll(MASKED)) {
    const id = groups?.["hash"] ?? groups?.["id"] ?? groups?.["token"];
    if (id !== undefined) ids.add(id);
  }
  return ids;
}
