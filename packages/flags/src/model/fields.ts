/** What a table of fields says about each field of an entity, and the types that follow from it. */
import type {
  BucketBy,
  EnvironmentSettings,
  FlagType,
  RuleConditions,
  Variant,
} from "../engine/definition.ts";
import type { JsonObject, JsonValue } from "../engine/json.ts";
import type { EnvironmentsPatch } from "./environments.ts";

/** `public`: browsers may evaluate the flag. `server`: only server code and API keys may. */
export type FlagVisibility = "public" | "server";

/** The values of each kind of field. `kinds.ts` says how they are stored and checked. */
export type FieldValues = {
  id: string;
  /** The id of another entity. */
  reference: string;
  key: string;
  name: string;
  /** At least one, and each once. */
  names: readonly string[];
  text: string;
  line: string;
  boolean: boolean;
  number: number;
  percentage: number;
  wholePercentage: number;
  json: JsonValue;
  object: JsonObject;
  type: FlagType;
  variants: readonly Variant[];
  environments: Readonly<Record<string, EnvironmentSettings>>;
  bucketBy: BucketBy;
  visibility: FlagVisibility;
  conditions: RuleConditions;
  salt: string;
  /** The place in an order. */
  position: number;
  /** ISO 8601 in inputs. */
  expiry: Date;
  algo: 1;
  version: number;
  created: Date;
  updated: Date;
};

/** The kinds whose values no caller sets. */
type ServerKind = "id" | "algo" | "version" | "created" | "updated";

/** A field of an entity. */
export type Field = {
  readonly kind: keyof FieldValues;
  /** An entity may be without it. A change to `null` removes it. */
  readonly optional?: true;
  /** A change cannot remove it. */
  readonly kept?: true;
  /** What a new entity has if its input does not say. */
  readonly default?: boolean | string;
  /** If its input does not say, the store gives each new entity a value of its own. */
  readonly derived?: true;
  /** `create`: only the input of a new entity has it. `server`: no input has it. Default: also a change has it. */
  readonly set?: "create" | "server";
  /** Default: the name of the field. */
  readonly column?: string;
};

/** The fields of an entity, in the order in which they are returned and hashed. */
export type Fields = Readonly<Record<string, Field>>;

/** Shows the members of a type, with their comments. */
type Flat<Type> = { [Name in keyof Type]: Type[Name] };

/** An entity as it is stored and returned. */
export type Entity<F extends Fields> = Flat<
  {
    readonly [Name in keyof F as F[Name] extends { optional: true }
      ? never
      : Name]: FieldValues[F[Name]["kind"]];
  } & {
    readonly [Name in keyof F as F[Name] extends { optional: true }
      ? Name
      : never]?: FieldValues[F[Name]["kind"]];
  }
>;

type InputValue<F extends Field> = F["kind"] extends "expiry" ? string : FieldValues[F["kind"]];
type ChangeValue<F extends Field> = F["kind"] extends "environments" ? EnvironmentsPatch : InputValue<F>;
type IsInput<F extends Field> = F extends { kind: ServerKind } | { set: "server" } ? false : true;
type IsRequired<F extends Field> = F extends { optional: true } | { default: unknown } | { derived: true }
  ? false
  : IsInput<F>;
type IsOffered<F extends Field> = IsRequired<F> extends true ? false : IsInput<F>;
type IsChangeable<F extends Field> = F extends { set: "create" } ? false : IsInput<F>;

/** The input that creates an entity. */
export type EntityInput<F extends Fields> = Flat<
  { -readonly [Name in keyof F as IsRequired<F[Name]> extends true ? Name : never]: InputValue<F[Name]> } & {
    -readonly [Name in keyof F as IsOffered<F[Name]> extends true ? Name : never]?:
      | InputValue<F[Name]>
      | undefined;
  }
>;

/** The input that changes an entity. An absent field keeps its value; `null` removes an optional one. */
export type EntityPatch<F extends Fields> = {
  -readonly [Name in keyof F as IsChangeable<F[Name]> extends true ? Name : never]?:
    | ChangeValue<F[Name]>
    | (F[Name] extends { kept: true } ? never : F[Name] extends { optional: true } ? null : never)
    | undefined;
};

/** Whether the input of a new entity may have the field. */
export function isInput({ kind, set }: Field): boolean {
  return set !== "server" && !SERVER_KINDS.has(kind);
}

/** Whether a change may have the field. The others never change, or follow from every change. */
export function isChangeable(field: Field): boolean {
  return field.set !== "create" && isInput(field);
}

const SERVER_KINDS: ReadonlySet<Field["kind"]> = new Set<ServerKind>([
  "id",
  "algo",
  "version",
  "created",
  "updated",
]);

/** What is not stored as text. */
type StoredValues = {
  boolean: boolean;
  wholePercentage: number;
  position: number;
  algo: number;
  version: number;
  created: Date;
  updated: Date;
};
type StoredValue<Kind> = Kind extends keyof StoredValues ? StoredValues[Kind] : string;
type Column<F extends Field, Name> = F extends { column: infer Given extends string } ? Given : Name;

/** The columns of an entity. */
export type EntityColumns<F extends Fields> = {
  -readonly [Name in keyof F as Column<F[Name], Name>]:
    | StoredValue<F[Name]["kind"]>
    | (F[Name] extends { optional: true } ? null : never);
};

/** A row of an entity's table. `id` is the application's, and the id of the entity has a column of its own. */
export type EntityRow<F extends Fields> = Flat<{ id: string; tenant: string } & EntityColumns<F>>;
