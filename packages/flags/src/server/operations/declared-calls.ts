/** The types of the methods that name a flag, for an instance whose flags are declared with `defineFlags`. */
import type { FlagDeclaration, FlagDeclarations } from "../../model/declared.ts";
import type { DeclarationOf, DeclaredKey, DeclaredName, NamedFields } from "../../model/declared-input.ts";
import type { CallOptions, CallResult } from "./method-type.ts";

/** A method whose `Field`, in `params` or in the body, names a flag. `Cleared` is `null` where `null` clears a value. */
export type DeclaredMethod<
  Flags extends FlagDeclarations,
  Field extends string,
  Input,
  Output,
  Cleared extends null,
> = <
  const Name extends string,
  AsResponse extends boolean = false,
  WithHeaders extends boolean = false,
  WithStatus extends boolean = false,
>(
  call: DeclaredCall<
    Input,
    Field,
    Field extends "key" ? DeclaredKey<Flags, Name> : DeclaredName<Flags, Name>,
    DeclarationOf<Flags, Name>,
    Cleared
  > &
    CallOptions<AsResponse, WithHeaders, WithStatus>,
) => Promise<CallResult<Output, AsResponse, WithHeaders, WithStatus>>;

/** The input of a method for a flag with this declaration. */
export type DeclaredCall<
  Input,
  Field extends string,
  Name extends string,
  Declaration extends FlagDeclaration | undefined,
  Cleared extends null = never,
> = {
  [Part in keyof Input]: Part extends "params" | "body"
    ? NamedFields<Input[Part], Field, Name, Declaration, Cleared>
    : Input[Part];
};
