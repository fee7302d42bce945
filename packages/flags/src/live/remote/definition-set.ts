/** A set of definitions ready to evaluate, and the builder that makes the next set from records. */
import { type CompiledFlag, compileFlag } from "../../engine/compile.ts";
import { segmentsOf } from "../../engine/conditions.ts";
import type { FlagDefinition, RuleConditions } from "../../engine/definition.ts";
import type { Terms } from "../definitions/protocol.ts";
import {
  flagRecord,
  type LayerNumber,
  overrideRecord,
  type RecordedOverride,
  segmentRecord,
} from "../definitions/records.ts";
import { parseRecord } from "./record-input.ts";

export interface SetFlag {
  readonly id: string;
  readonly layer: LayerNumber;
  readonly definition: FlagDefinition;
  readonly compiled: CompiledFlag;
}

type Overrides = ReadonlyMap<string, RecordedOverride>;
type SegmentMap = ReadonlyMap<string, RuleConditions>;

/** All definitions at one position. Immutable. */
export interface DefinitionSet {
  readonly position: string;
  readonly terms: Terms;
  readonly flags: ReadonlyMap<string, SetFlag>;
  readonly segments: readonly [global: SegmentMap, organization: SegmentMap];
  /** By flag key and user. */
  readonly overrides: ReadonlyMap<string, Overrides>;
  /** The size of all records, in bytes of UTF-8. */
  readonly bytes: number;
}

/** Flags compiled before the event loop gets a turn: a few milliseconds. */
const COMPILE_SLICE = 200;

/** A flag whose record has arrived and that is not compiled yet. */
type PendingFlag = Omit<SetFlag, "compiled"> & { readonly compiled?: CompiledFlag };

export class SetBuilder {
  readonly #flags: Map<string, PendingFlag>;
  readonly #segments: [Map<string, RuleConditions>, Map<string, RuleConditions>];
  readonly #overrides: Map<string, Overrides>;
  readonly #copied = new Set<unknown>();
  readonly #maxBytes: number;
  readonly #changed = new Set<string>();
  /** By layer: whether its segments have changed, so that the flags that use them must be compiled again. */
  readonly #segmentsChanged = [false, false];
  #bytes: number;

  /** Throws from `add` when the set becomes larger than this, in bytes. */
  constructor(base: DefinitionSet | undefined, maxBytes: number) {
    this.#flags = new Map(base?.flags);
    this.#segments = [new Map(base?.segments[0]), new Map(base?.segments[1])];
    this.#overrides = new Map(base?.overrides);
    this.#bytes = base?.bytes ?? 0;
    this.#maxBytes = maxBytes;
  }

  /** Keys of the flags that may answer differently than in the base. Complete after `finish`. */
  get changedKeys(): string[] {
    return [...this.#changed];
  }

  add(text: string): void {
    const record = parseRecord(text);
    switch (record[0]) {
      case "f":
        if (record.length === 2) this.#setFlag(record[1], undefined, 0);
        else {
          const [, key, layer, id, definition] = record;
          this.#setFlag(key, { layer, id, definition }, bytesOf(text));
        }
        break;
      case "s":
        this.#setSegment(record[1], record[2], record.length === 3 ? undefined : record[3], bytesOf(text));
        break;
      case "o":
        if (record.length === 3) this.#setOverride(record[1], record[2], undefined, 0);
        else {
          const [, key, userId, value, variant, expiresAtMs] = record;
          const expiry = expiresAtMs ?? Number.POSITIVE_INFINITY;
          const override = { value, ...(variant !== null && { variant }), expiresAtMs: expiry };
          this.#setOverride(key, userId, override, bytesOf(text));
        }
        break;
    }
    if (this.#bytes > this.#maxBytes) {
      throw new RangeError(
        `The flag definitions have more than ${this.#maxBytes} bytes, the limit (maxBytes). Raise it, or remove overrides and flags.`,
      );
    }
  }

  /** Compiles what has changed, in slices. Throws when a definition is not valid. */
  async finish(position: string, terms: Terms): Promise<DefinitionSet> {
    const flags = new Map<string, SetFlag>();
    let work = 0;
    for (const [key, flag] of this.#flags) {
      const { layer, definition } = flag;
      const kept = this.#segmentsChanged[layer] && usesSegments(definition) ? undefined : flag.compiled;
      if (kept === undefined) this.#changed.add(key);
      flags.set(key, { ...flag, compiled: kept ?? compileFlag(definition, this.#segments[layer]) });
      if (kept !== undefined) continue;
      work += 1 + definition.rules.length;
      if (work < COMPILE_SLICE) continue;
      work = 0;
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    return {
      position,
      terms,
      flags,
      segments: this.#segments,
      overrides: this.#overrides,
      bytes: this.#bytes,
    };
  }

  #setFlag(key: string, flag: Omit<PendingFlag, "compiled"> | undefined, bytes: number): void {
    const before = this.#flags.get(key);
    if (before !== undefined) this.#bytes -= bytesOfFlag(before);
    // Another flag with the same key.
    if (before?.id !== flag?.id) this.#dropOverrides(key);
    this.#changed.add(key);
    if (flag === undefined) {
      this.#flags.delete(key);
      return;
    }
    if (flag.definition.key !== key) throw new TypeError("A definition has another key than its record.");
    this.#flags.set(key, flag);
    this.#bytes += bytes;
  }

  #setSegment(layer: LayerNumber, key: string, conditions: RuleConditions | undefined, bytes: number): void {
    const segments = this.#segments[layer];
    const before = segments.get(key);
    if (before !== undefined) this.#bytes -= bytesOf(segmentRecord(layer, key, before));
    this.#segmentsChanged[layer] = true;
    if (conditions === undefined) segments.delete(key);
    else {
      segments.set(key, conditions);
      this.#bytes += bytes;
    }
  }

  #setOverride(key: string, userId: string, override: RecordedOverride | undefined, bytes: number): void {
    const overrides = this.#writableOverrides(key);
    const before = overrides.get(userId);
    if (before !== undefined) this.#bytes -= bytesOf(overrideRecord(key, userId, before));
    this.#changed.add(key);
    if (override === undefined) overrides.delete(userId);
    else {
      overrides.set(userId, override);
      this.#bytes += bytes;
    }
    if (overrides.size === 0) this.#overrides.delete(key);
  }

  #dropOverrides(key: string): void {
    for (const [userId, override] of this.#overrides.get(key) ?? []) {
      this.#bytes -= bytesOf(overrideRecord(key, userId, override));
    }
    this.#overrides.delete(key);
  }

  #writableOverrides(key: string): Map<string, RecordedOverride> {
    const current = this.#overrides.get(key);
    if (current instanceof Map && this.#copied.has(current)) return current;
    const copy = new Map(current);
    this.#copied.add(copy);
    this.#overrides.set(key, copy);
    return copy;
  }
}

function bytesOfFlag({ id, layer, definition }: PendingFlag): number {
  return bytesOf(flagRecord(id, layer, definition));
}

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

function usesSegments({ rules }: FlagDefinition): boolean {
  return rules.some(({ conditions }) => segmentsOf(conditions).size > 0);
}

/** All records of a set, for the file. */
export function* recordsOf({ flags, segments, overrides }: DefinitionSet): Generator<string> {
  for (const layer of [0, 1] as const) {
    for (const [key, conditions] of segments[layer]) yield segmentRecord(layer, key, conditions);
  }
  for (const { id, layer, definition } of flags.values()) yield flagRecord(id, layer, definition);
  for (const [key, users] of overrides) {
    for (const [userId, override] of users) yield overrideRecord(key, userId, override);
  }
}
