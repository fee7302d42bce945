/** The books of a simulated A/B test: what each person saw and did, and the figures that follow from it. */

/** The figures of one arm: exposures, subjects, and by event name its count, sum and converters. */
export type ArmFigures = [
  exposures: number,
  subjects: number,
  events: Record<string, [number, number, number]>,
];

interface BookedEvent {
  readonly name: string;
  readonly value: number | undefined;
  readonly subject: () => string | undefined;
}

class Book {
  readonly first = new Map<string, string>();
  readonly shown = new Map<string, Set<string>>();
  readonly excluded = new Map<string, (() => string)[]>();
  readonly events: BookedEvent[] = [];
}

export class Books {
  exposures = 0;
  readonly #books: ReadonlyMap<string, Book>;
  readonly #users = new Map<string, string>();
  readonly #visitors = new Map<string, string>();

  constructor(flagKeys: readonly string[]) {
    this.#books = new Map(flagKeys.map((key) => [key, new Book()]));
  }

  #of(key: string): Book {
    const book = this.#books.get(key);
    if (book === undefined) throw new Error(`There is no book of ${key}.`);
    return book;
  }

  show(key: string, arm: string, subject: string): void {
    const { first, shown } = this.#of(key);
    this.exposures += 1;
    if (!first.has(subject)) first.set(subject, arm);
    const subjects = shown.get(arm) ?? new Set();
    shown.set(arm, subjects.add(subject));
  }

  exclude(key: string, arm: string, who: () => string): void {
    const { excluded } = this.#of(key);
    excluded.set(arm, [...(excluded.get(arm) ?? []), who]);
  }

  happen(key: string, name: string, value: number | undefined, subject: () => string | undefined): void {
    this.#of(key).events.push({ name, value, subject });
  }

  link(anonymousId: string, userId: string): void {
    if (!this.#users.has(anonymousId)) this.#users.set(anonymousId, userId);
    if (!this.#visitors.has(userId)) this.#visitors.set(userId, anonymousId);
  }

  userOf(anonymousId: string): string | undefined {
    return this.#users.get(anonymousId);
  }

  anonymousOf(userId: string): string | undefined {
    return this.#visitors.get(userId);
  }

  figures(): Record<string, Record<string, ArmFigures>> {
    return Object.fromEntries(Array.from(this.#books, ([key, book]) => [key, armsOf(book)]));
  }
}

function armsOf({ first, shown, excluded, events }: Book): Record<string, ArmFigures> {
  const arms: Record<string, ArmFigures> = {};
  const converters = new Map<string, Set<string>>();
  const armNamed = (arm: string): ArmFigures => {
    const figures = arms[arm] ?? [0, 0, {}];
    arms[arm] = figures;
    return figures;
  };
  for (const [arm, subjects] of shown) {
    const figures = armNamed(arm);
    figures[0] = subjects.size;
    figures[1] = subjects.size;
  }
  for (const [arm, whos] of excluded) {
    const users = new Set(whos.map((who) => who()));
    const figures = armNamed(`${arm} excluded`);
    figures[0] = users.size;
    figures[1] = users.size;
  }
  for (const { name, value = 0, subject } of events) {
    const who = subject();
    const arm = (who && first.get(who)) ?? "";
    const [, , named] = armNamed(arm);
    const figures = named[name] ?? [0, 0, 0];
    named[name] = figures;
    figures[0] += 1;
    figures[1] += value;
    if (who === undefined) continue;
    const key = JSON.stringify([arm, name]);
    const of = converters.get(key) ?? new Set();
    converters.set(key, of.add(who));
    figures[2] = of.size;
  }
  return sorted(arms);
}

/** With names in one order, so that figures can be compared as text. */
export function sorted(arms: Record<string, ArmFigures>): Record<string, ArmFigures> {
  const byName = <Value>(entries: [string, Value][]) => entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    byName(Object.entries(arms)).map(([arm, [exposures, subjects, events]]) => [
      arm,
      [exposures, subjects, Object.fromEntries(byName(Object.entries(events)))],
    ]),
  );
}
