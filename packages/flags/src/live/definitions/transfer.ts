/** The records of a view, or of what changed in it, page by page. Nothing is encoded before its page is requested. */
import type { FlagDefinition } from "../../engine/definition.ts";
import { countsIn } from "../../engine/outcome.ts";
import { toFlagDefinition } from "../../store/rows/definition.ts";
import { byOrder } from "../../store/rows/rules.ts";
import { PAGE_CHARACTERS } from "./protocol.ts";
import {
  flagRecord,
  goneRecord,
  type LayerNumber,
  overrideRecord,
  type RecordName,
  segmentRecord,
} from "./records.ts";
import type { DefinitionView, ViewFlag } from "./view.ts";

export interface Page {
  readonly records: string[];
  readonly hasMore: boolean;
}

export class Transfer {
  readonly position: string;
  readonly isWhole: boolean;
  /** The number of the page that may be requested next. */
  nextPage: number = 0;
  readonly #records: Iterator<string>;
  /** One record ahead, to know whether another page follows. */
  #ahead: IteratorResult<string>;

  /** Without `changed`, all records of the view. */
  constructor(
    view: DefinitionView,
    environment: string | undefined,
    changed: readonly RecordName[] | undefined,
  ) {
    this.position = view.position;
    this.isWhole = changed === undefined;
    this.#records =
      changed === undefined ? allRecords(view, environment) : changedRecords(view, environment, changed);
    this.#ahead = this.#records.next();
  }

  page(): Page {
    this.nextPage += 1;
    const records: string[] = [];
    let characters = 0;
    while (this.#ahead.done !== true && characters < PAGE_CHARACTERS) {
      records.push(this.#ahead.value);
      characters += this.#ahead.value.length;
      this.#ahead = this.#records.next();
    }
    return { records, hasMore: this.#ahead.done !== true };
  }
}

function* allRecords(view: DefinitionView, environment: string | undefined): Generator<string> {
  for (const layer of [0, 1] as const) {
    for (const [key, conditions] of view.segments[layer]) yield segmentRecord(layer, key, conditions);
  }
  for (const [key, flag] of view.flags) {
    yield recordOf(flag, environment);
    for (const [userId, override] of flag.overrides ?? []) yield overrideRecord(key, userId, override);
  }
}

/** Flags before overrides: a flag with another id removes the overrides of its predecessor. */
const ORDER = ["f", "s", "o"] as const;

function* changedRecords(
  view: DefinitionView,
  environment: string | undefined,
  changed: readonly RecordName[],
): Generator<string> {
  for (const kind of ORDER) {
    for (const name of changed) if (name[0] === kind) yield currentRecord(view, environment, name);
  }
}

function currentRecord(view: DefinitionView, environment: string | undefined, name: RecordName): string {
  switch (name[0]) {
    case "f": {
      const flag = view.flags.get(name[1]);
      return flag === undefined ? goneRecord(name) : recordOf(flag, environment);
    }
    case "s": {
      const [, layer, key] = name;
      const conditions = view.segments[layer satisfies LayerNumber].get(key);
      return conditions === undefined ? goneRecord(name) : segmentRecord(layer, key, conditions);
    }
    case "o": {
      const [, key, userId] = name;
      const override = view.flags.get(key)?.overrides?.get(userId);
      return override === undefined ? goneRecord(name) : overrideRecord(key, userId, override);
    }
  }
}

function recordOf({ flag, layer, rules }: ViewFlag, environment: string | undefined): string {
  const sorted = [...(rules?.values() ?? [])].sort(byOrder);
  return flagRecord(flag.id, layer, inEnvironment(toFlagDefinition(flag, sorted), environment));
}

/** Settings and rules of other environments stay on the server. */
function inEnvironment(
  { environments, rules, ...fields }: FlagDefinition,
  name: string | undefined,
): FlagDefinition {
  const counting = rules.filter((rule) => countsIn(rule, name));
  // A remote process evaluates in this environment only, and an older one does not know the field.
  const definition = { ...fields, rules: counting.map(({ environments: _, ...rule }) => rule) };
  const settings =
    name !== undefined && environments !== undefined && Object.hasOwn(environments, name)
      ? environments[name]
      : undefined;
  // Not an object literal: `__proto__` is a name like any other.
  return settings === undefined
    ? definition
    : { ...definition, environments: Object.fromEntries([[String(name), settings]]) };
}
