/** Makes entities of inputs, rows and audit texts, and rows of entities, by the table of their fields. */
import type { FlagType } from "../../engine/definition.ts";
import type { JsonValue } from "../../engine/json.ts";
import { type EnvironmentsPatch, patchEnvironments } from "../../model/environments.ts";
import type {
  Entity,
  EntityColumns,
  EntityInput,
  EntityPatch,
  EntityRow,
  Field,
  Fields,
  FieldValues,
} from "../../model/fields.ts";
import { storedAs } from "../../model/kinds.ts";
import { decodeJson, encodeJson, reviveEntity } from "./codec.ts";

export interface Mapping<F extends Fields> {
  /** A new entity. What is `given` is not in the input, or replaces it. */
  create(input: EntityInput<F>, at: Date, given: Given<Entity<F>>): Entity<F>;
  /** The entity after a change. On a flag of type `json`, `null` is a value like any other. */
  patch(entity: Entity<F>, change: EntityPatch<F>, at: Date, type?: FlagType): Entity<F>;
  toColumns(entity: Entity<F>): EntityColumns<F>;
  toEntity(row: EntityRow<F>): Entity<F>;
  /** Decodes an entity from the audit log. */
  revive(text: string | null): Entity<F>;
}

type Given<Values> = { readonly [Name in keyof Values]?: Values[Name] | undefined };

/** Entities, inputs and rows have the fields and columns of one table, whose types are checked where it is declared. */
type Untyped = Record<string, unknown>;

export function mappingOf<F extends Fields>(fields: F): Mapping<F> {
  const list = Object.entries<Field>(fields).map(([name, field]) => {
    const { kind, column = name, default: initial } = field;
    const stored = storedAs(field);
    const [encode, decode] = stored === undefined ? [] : [ENCODE[stored], DECODE[stored]];
    return { name, kind, column, initial, encode, decode };
  });
  const times = list
    .filter(({ kind }) => TIMES.has(kind))
    .map(({ name }) => name as string & keyof Entity<F>);

  const empty = Object.fromEntries(list.map(({ column }) => [column, null]));

  function build<Made>(read: (field: (typeof list)[number]) => unknown): Made {
    const made: Untyped = {};
    for (const field of list) {
      const value = read(field);
      if (value !== undefined) made[field.name] = value;
    }
    return made as Made;
  }

  return {
    create: (input: Untyped, at, given: Untyped) =>
      build(({ name, kind, initial }) => {
        const value = given[name] ?? initialOf(kind, at) ?? input[name];
        return value === undefined ? initial : value;
      }),
    patch: (entity: Untyped, change: Untyped, at, type) =>
      build(({ name, kind }) => {
        const [current, next] = [entity[name], change[name]];
        if (kind === "version") return Number(current) + 1;
        if (kind === "updated") return at;
        if (kind === "environments" && next) {
          return patchEnvironments(current as FieldValues["environments"], next as EnvironmentsPatch);
        }
        if (next === null) return kind === "json" && type === "json" ? null : undefined;
        return next === undefined ? current : next;
      }),
    toColumns(entity: Untyped) {
      const columns: Untyped = { ...empty };
      for (const { name, column, encode } of list) {
        const value = entity[name];
        if (value !== undefined) columns[column] = encode === undefined ? value : encode(value);
      }
      return columns as EntityColumns<F>;
    },
    toEntity(row: Untyped) {
      const entity: Untyped = {};
      for (const { name, column, decode } of list) {
        const value = row[column];
        if (value !== null) entity[name] = decode === undefined ? value : decode(String(value));
      }
      return entity as Entity<F>;
    },
    revive: (text) => reviveEntity<Entity<F>>(text, times),
  };
}

const TIMES: ReadonlySet<Field["kind"]> = new Set<Field["kind"]>(["created", "updated", "expiry"]);
const ENCODE = {
  json: (value: unknown): string => encodeJson(value as JsonValue),
  time: (value: unknown): string => (value as Date).toISOString(),
};
const DECODE = { json: decodeJson, time: (text: string): Date => new Date(text) };

function initialOf(kind: Field["kind"], at: Date): unknown {
  if (kind === "created" || kind === "updated") return at;
  return kind === "version" || kind === "algo" ? 1 : undefined;
}
