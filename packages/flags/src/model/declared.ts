/** Flags declared in code: their keys, types, values and variants, for the compiler and for checks at run time. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { FlagType } from "../engine/definition.ts";
import type { JsonObject, JsonValue } from "../engine/json.ts";

export type { JsonObject, JsonValue } from "../engine/json.ts";

type Declaration<Type extends FlagType, Value extends JsonValue> = {
  /** The type of the flag. */
  readonly type: Type;
  /** Returned by a read without its own default while the flag has no value. */
  readonly default?: Value;
  /** The only values the flag may have. */
  readonly values?: readonly Value[];
  /** The keys of the flag's variants. */
  readonly variants?: readonly string[];
};

type JsonDeclaration = Declaration<"json", JsonValue> & {
  /**
   * The shape of the value: a schema of Zod, Valibot or another Standard Schema, without asynchronous checks. Default: the
   * shape of `default`.
   */
  readonly schema?: StandardSchemaV1<unknown, JsonValue>;
};

/** One flag of `defineFlags`. */
export type FlagDeclaration =
  | Declaration<"boolean", boolean>
  | Declaration<"string", string>
  | Declaration<"number", number>
  | JsonDeclaration;

/** The flags of `defineFlags` by key. */
export type FlagDeclarations = { readonly [key: string]: FlagDeclaration };

/**
 * Declares the flags of an application once, for server, client and React.
 *
 * @example
 * ```ts
 * import { defineFlags } from "@halyard/flags/client";
 *
 * type Limits = { uploads: number; seats: number };
 *
 * export const flags = defineFlags({
 *   "new-checkout": { type: "boolean", default: false },
 *   search: { type: "string", values: ["keyword", "semantic"], variants: ["control", "semantic"] },
 *   limits: { type: "json", default: { uploads: 10, seats: 3 } as Limits },
 * });
 * ```
 */
export function defineFlags<const Flags extends Consistent<Flags>>(flags: Flags): Flags {
  return flags;
}

/** Declarations whose `default` is one of the `values` beside it. */
type Consistent<Flags> = {
  readonly [Key in keyof Flags]: Flags[Key] extends { values: readonly (infer Value)[]; default: JsonValue }
    ? FlagDeclaration & { readonly default: Value }
    : FlagDeclaration;
};

/** The keys of declared flags. */
export type FlagKey<Flags extends FlagDeclarations> = keyof Flags & string;

/** Keys of boolean flags. Any key when no flags are declared. */
export type BooleanFlagKey<Flags extends FlagDeclarations> = {
  [Key in FlagKey<Flags>]: string extends Key ? Key : Flags[Key] extends { type: "boolean" } ? Key : never;
}[FlagKey<Flags>];

/** The type of a declared flag's value. */
export type FlagValue<Flags extends FlagDeclarations, Key extends FlagKey<Flags>> = ValueOf<Flags[Key]>;

/** The type of the value of a flag with this declaration. */
export type ValueOf<Declared> = Declared extends { values: readonly (infer Value)[] }
  ? Value
  : Declared extends { type: infer Type extends keyof Primitives }
    ? Primitives[Type]
    : Declared extends { type: "json"; schema: infer Schema extends StandardSchemaV1 }
      ? StandardSchemaV1.InferOutput<Schema>
      : Declared extends { type: "json"; default: infer Value }
        ? Widened<Value>
        : JsonValue;

type Primitives = { boolean: boolean; string: string; number: number };

/** A default value in a declaration stands for its type. */
type Widened<Value> = Value extends boolean
  ? boolean
  : Value extends string
    ? string
    : Value extends number
      ? number
      : Value extends null
        ? JsonValue
        : Value extends readonly (infer Item)[]
          ? readonly Widened<Item>[]
          : { readonly [Key in keyof Value]: Widened<Value[Key]> };

type WithVariants<Variant extends string> = { variants: readonly Variant[] };

/** The keys of the variants of a flag with this declaration. */
export type VariantOf<Declared> = Declared extends WithVariants<infer Variant> ? Variant : string;

/** The variants of a declared flag. */
export type VariantKey<Flags extends FlagDeclarations, Key extends FlagKey<Flags>> = VariantOf<Flags[Key]>;

type WithDefault = { default: JsonValue };

/** The result type of a read without its own default. */
export type ReadValue<
  Flags extends FlagDeclarations,
  Key extends FlagKey<Flags>,
> = Flags[Key] extends WithDefault ? FlagValue<Flags, Key> : FlagValue<Flags, Key> | undefined;

/** The values of all flags by key. A flag that does not exist is absent. */
export type FlagValueMap<Flags extends FlagDeclarations> = {
  readonly [Key in FlagKey<Flags>]?: FlagValue<Flags, Key>;
};

/**
 * Whether the declaration allows the value. Without a `schema`, the default of a JSON flag stands for its shape: each of
 * its fields must be there, with a value of the same kind. `declared-shape.ts` says what does not fit.
 */
export function fitsDeclaration(declaration: FlagDeclaration, value: JsonValue): boolean {
  if (declaration.type === "json") {
    const { schema } = declaration;
    if (schema === undefined) return hasShape(declaration.default ?? null, value);
    const result = schema["~standard"].validate(value);
    if (!(result instanceof Promise)) return !result.issues;
    // Also a synchronous schema of Zod gives a promise when a check in it throws. Its rejection must not end the process.
    result.catch(() => undefined);
    return false;
  }
  const { type, values } = declaration;
  return typeof value === type && (values === undefined || values.some((allowed) => allowed === value));
}

/** `null` in a default says nothing about the value. */
function hasShape(shape: JsonValue, value: JsonValue | undefined): boolean {
  if (shape === null) return true;
  if (typeof value !== typeof shape || Array.isArray(value) !== Array.isArray(shape)) return false;
  if (typeof shape !== "object") return true;
  // The kinds are the same, so both are lists or both are objects, if the value is not null.
  if (!isList(shape)) {
    return (
      value !== null && Object.entries(shape).every(([key, one]) => hasShape(one, (value as JsonObject)[key]))
    );
  }
  return (value as JsonValue[]).every(
    (item) => shape.length === 0 || shape.some((one) => hasShape(one, item)),
  );
}

function isList(value: JsonObject | readonly JsonValue[]): value is readonly JsonValue[] {
  return Array.isArray(value);
}
