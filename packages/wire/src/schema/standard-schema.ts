/** The Standard Schema interface (standardschema.dev), version 1, which validation libraries implement. */

/** A schema of any library that implements Standard Schema. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The members that Standard Schema defines. */
  readonly "~standard": {
    /** The version of the interface. */
    readonly version: 1;
    /** The name of the library. */
    readonly vendor: string;
    /** Checks a value. */
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    /** For the compiler only. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Describes the values in JSON Schema; of libraries that implement Standard JSON Schema. */
    readonly jsonSchema?: JsonSchemaConverter | undefined;
  };
}

/** A schema that changes nothing: the receiver gets the type that the sender passes. Editors show that type once. */
export interface PlainSchema<T = unknown> extends StandardSchema<T> {}

/** `PlainSchema` where it says the same, because editors show a call with all its types. */
export type SchemaOf<Input, Output> =
  Same<Input, Output> extends true ? PlainSchema<Output> : StandardSchema<Input, Output>;

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** The Standard JSON Schema interface, version 1, as far as it is used here. */
export interface JsonSchemaConverter {
  /** Describes what a sender passes. */
  input(options: JsonSchemaOptions): Record<string, unknown>;
}

/** Options of the conversion to JSON Schema. */
export interface JsonSchemaOptions {
  /** The version of JSON Schema. */
  readonly target: "draft-07";
  /** Options of the library itself. */
  readonly libraryOptions?: Record<string, unknown> | undefined;
}

/** The parsed value, or what is wrong with it. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: ReadonlyArray<StandardIssue> };

/** One thing that is wrong with a value. */
export interface StandardIssue {
  /** For people. */
  readonly message: string;
  /** Where it is. */
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

export type InferInput<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["input"];
export type InferOutput<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["output"];
