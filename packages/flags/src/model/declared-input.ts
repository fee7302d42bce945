/** Inputs of writes, limited to the flags declared with `defineFlags`: another key, type or value does not compile. */
import type { EnvironmentSettings, Variant } from "../engine/definition.ts";
import type { FlagDeclaration, FlagDeclarations, ValueOf, VariantOf } from "./declared.ts";

/** Whether the name is computed at run time, so that the compiler knows no key. Also for `any`, to which `betterAuth` compares. */
type IsComputed<Name extends string> = Record<never, never> extends Record<Name, unknown> ? true : false;

type KeyIn<Name extends string> = Name extends `key:${infer Key}` ? Key : Name;

/** The form of the ids of flags, UUID v7. */
type Id = `${string}-${string}-7${string}-${string}-${string}`;

/** The key of a new flag: a declared one, unless it is computed. */
export type DeclaredKey<Flags extends FlagDeclarations, Key extends string> =
  IsComputed<Key> extends true ? Key : Key extends keyof Flags ? Key : keyof Flags & string;

/** The name of a flag: a declared key, with or without `key:`, or what has the form of an id, unless it is computed. */
export type DeclaredName<Flags extends FlagDeclarations, Name extends string> =
  IsComputed<Name> extends true
    ? Name
    : KeyIn<Name> extends keyof Flags
      ? Name
      : Name extends Id
        ? Name
        : (keyof Flags & string) | `key:${keyof Flags & string}`;

/** The declaration of a flag by its name; undefined if the name says no declared key. */
export type DeclarationOf<Flags extends FlagDeclarations, Name extends string> =
  IsComputed<Name> extends true
    ? undefined
    : string extends keyof Flags
      ? undefined
      : KeyIn<Name> extends keyof Flags
        ? Flags[KeyIn<Name>]
        : undefined;

/** An input whose values and variants are as declared. `Cleared` is `null` in a patch, where it clears a field. */
export type DeclaredFields<
  Input,
  Declaration extends FlagDeclaration | undefined,
  Cleared extends null = never,
> = [Declaration] extends [infer Known extends FlagDeclaration]
  ? Limited<OfType<Input, Known["type"]>, Limits<Known, Cleared>, Cleared>
  : Input;

/** The same of an input whose field `Field`, where it has it, names the flag. */
export type NamedFields<
  Input,
  Field extends string,
  Name extends string,
  Declaration extends FlagDeclaration | undefined,
  Cleared extends null = never,
> = DeclaredFields<Input, Declaration, Cleared> & { [Named in Extract<Field, keyof Input>]: Name };

/** The member of a union by type. */
type OfType<Input, Type> = Input extends { type: string } ? Extract<Input, { type: Type }> : Input;

type Limited<Input, Allowed, Cleared, Names = LimitedIn<Input, Allowed>> = {
  [Field in keyof Input]: Field extends Names & keyof Allowed
    ? Allowed[Field] | Extract<Input[Field], undefined> | (null extends Input[Field] ? Cleared : never)
    : Input[Field];
};

/** The `environments` of a rule are names, and have no values. */
type LimitedIn<Input, Allowed> = keyof Allowed &
  ("conditions" extends keyof Input ? Exclude<keyof Input, "environments"> : keyof Input);

/** What a declaration allows in the fields of a flag, a rule and an override. */
type Limits<
  Declaration extends FlagDeclaration,
  Cleared extends null,
  Value = ValueOf<Declaration>,
  VariantKey = VariantOf<Declaration>,
> = {
  type: Declaration["type"];
  value: Value;
  defaultValue: Value;
  offValue: Value;
  variant: VariantKey;
  variants: readonly Replaced<Variant, { key: VariantKey; value: Value }>[];
  environments: {
    readonly [name: string]:
      | OrCleared<Replaced<EnvironmentSettings, { defaultValue: Value; offValue: Value }>, Cleared>
      | Cleared;
  };
};

type OrCleared<Entry, Cleared> = { [Field in keyof Entry]: Entry[Field] | Cleared };
type Replaced<Entry, By> = { [Field in keyof Entry]: Field extends keyof By ? By[Field] : Entry[Field] };
