/** Flags declared in code: their keys, types, values and variants, for the compiler and for checks at run time. */
import type { FlagType } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";

export type { JsonObject, JsonValue } from "../engine/json.ts";

type Declaration<Type extends FlagType, Value extends JsonValue> = {
  readonly type: Type;
  /** Returned by a read without its own default while the flag has no value. */
  readonly default?: Value;
  /** The only values the flag may have. */
  readonly values?: readonly Value[];
  /** The keys of the flag's variants. */
  readonly variants?: readonly string[];
};

export type FlagDeclaration =
  | Declaration<"boolean", boolean>
  | Declaration<"string", string>
  | Declaration<"number", number>
  | Declaration<"json", JsonValue>;

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
export function defineFlags<const Flags extends FlagDeclarations>(flags: Flags): Flags {
  return flags;
}

export type FlagKey<Flags extends FlagDeclarations> = keyof Flags & string;

/** Keys of boolean flags. Any key when no flags are declared. */
export type BooleanFlagKey<Flags extends FlagDeclarations> = {
  [Key in FlagKey<Flags>]: string extends Key ? Key : Flags[Key] extends { type: "boolean" } ? Key : never;
}[FlagKey<Flags>];

export type FlagValue<Flags extends FlagDeclarations, Key extends FlagKey<Flags>> = ValueOf<Flags[Key]>;

type ValueOf<Declared> = Declared extends { values: readonly (infer Value)[] }
  ? Value
  : Declared extends { type: infer Type extends keyof Primitives }
    ? Primitives[Type]
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

export type VariantKey<Flags extends FlagDeclarations, Key extends FlagKey<Flags>> = Flags[Key] extends {
  variants: readonly (infer Variant extends string)[];
}
  ? Variant
  : string;

/** The result type of a read without its own default. */
export type ReadValue<Flags extends FlagDeclarations, Key extends FlagKey<Flags>> = Flags[Key] extends {
  default: JsonValue;
}
  ? FlagValue<Flags, Key>
  : FlagValue<Flags, Key> | undefined;

/** The values of all flags by key. A flag that does not exist is absent. */
export type FlagValueMap<Flags extends FlagDeclarations> = {
  readonly [Key in FlagKey<Flags>]?: FlagValue<Flags, Key>;
};

/** Whether the declaration allows the value. */
export function fitsDeclaration({ type, values }: FlagDeclaration, value: JsonValue): boolean {
  if (type !== "json" && typeof value !== type) return false;
  // Values of json flags are not compared, because the order of their keys has no meaning.
  return type === "json" || values === undefined || values.some((allowed) => allowed === value);
}
