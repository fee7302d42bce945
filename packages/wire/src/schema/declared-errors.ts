/** The types of errors that a request declares. The code is in `error-reader.ts`. */
import type { ErrorCode, TerminalCode, WsError } from "../protocol/error.ts";
import type { OnlyRefused, RefuseNonJson } from "./json-type.ts";
import type { InferInput, InferOutput, StandardSchema } from "./standard-schema.ts";

/** Errors as they are passed to `message()` and `rpc()`, by name: a standard code, and the fields of the data if it has some. */
export type ErrorConfigs<Fields = unknown> = Readonly<
  Record<string, { readonly code: ErrorCode; readonly data?: Fields }>
>;

/** The config key of errors, if the config is one of a request with errors. */
export type ErrorsKey<Config> = Config extends Record<"response", unknown> & Record<"errors", ErrorConfigs>
  ? "errors"
  : never;

/** Added to arguments, so that the compiler refuses data without a JSON form. */
export type ErrorsJson<Errors> = OnlyRefused<{
  [Name in keyof Errors]: RefuseNonJson<Value<DataOf<Errors[Name]>, "input">>;
}>;

/** The same for the options of `rpc()`. */
export type OptionsJson<Options> = OnlyRefused<{
  [K in keyof Options]: K extends "errors"
    ? ErrorsJson<Options[K]>
    : RefuseNonJson<Value<Options[K], "input">>;
}>;

/** The errors of a schema, by name: the code that is sent, and the schema of the data; undefined when there is none. */
export type AnyErrors = Readonly<
  Record<string, { readonly code: ErrorCode; readonly data: StandardSchema | undefined }>
>;

/** What declared errors add to the schema of a request. */
export interface DeclaredErrors<Errors extends AnyErrors = AnyErrors> {
  /** The errors that `ctx.fail()` may end the request with. */
  readonly errors: Errors;
  /** Whether a request of this schema was rejected with one of its declared errors. */
  isError(error: unknown): error is DeclaredError<Errors>;
  /** For callers: recognizes declared errors. In the schema, so that only pages with schemas load it. */
  readonly readError: ReadError;
}

/** The declared errors of a config or of options; `unknown` without any. */
export type ErrorsOf<Config> = Config extends { readonly errors: infer Errors extends ErrorConfigs }
  ? DeclaredErrors<{ readonly [Name in keyof Errors]: Declaration<Errors[Name]> }>
  : unknown;

type Declaration<E extends ErrorConfigs[string]> = {
  readonly code: E["code"];
  readonly data: SchemaOf<DataOf<E>>;
};

type DataOf<E> = E extends { readonly data: infer D } ? D : undefined;

/** The Standard Schema type of a schema, or of fields; undefined for undefined. */
export type SchemaOf<F> = F extends undefined ? F : StandardSchema<Value<F, "input">, Value<F, "output">>;

type Side = "input" | "output";

/** The value of a schema; undefined for anything else. */
type Item<F, S extends Side> = F extends StandardSchema ? NonNullable<F["~standard"]["types"]>[S] : undefined;

/** The same for fields, in which a key whose value may be undefined is optional. */
type Value<F, S extends Side> = F extends StandardSchema | undefined
  ? Item<F, S>
  : { -readonly [K in keyof F as undefined extends Item<F[K], S> ? never : K]: Item<F[K], S> } & {
        -readonly [K in keyof F as undefined extends Item<F[K], S> ? K : never]?: Item<F[K], S>;
      } extends infer Fields
    ? { [K in keyof Fields]: Fields[K] }
    : never;

/** A declared error as the caller of the request gets it; `reason` is its name. */
export type DeclaredError<Errors extends AnyErrors> = {
  readonly [Name in keyof Errors & string]: WsError & {
    /** The declared code. */
    readonly code: Errors[Name]["code"];
    /** The name of the error. */
    readonly reason: Name;
    /** The validated data; undefined when none is declared. */
    readonly data: Errors[Name]["data"] extends StandardSchema
      ? InferOutput<Errors[Name]["data"]>
      : undefined;
  };
}[keyof Errors & string];

/** What a request rejects with. `reason` is undefined for errors that the schema does not declare. */
export type RequestError<S> = S extends { readonly errors: infer Errors extends AnyErrors }
  ? DeclaredError<Errors> | (WsError & { readonly reason?: undefined; readonly data?: undefined })
  : WsError;

/** Takes the name of a declared error, its data if it has some, and options. Without declared errors it takes nothing. */
export type Fail<S, Options> = S extends { readonly errors: infer Errors extends AnyErrors }
  ? <Name extends keyof Errors & string>(
      name: Name,
      ...rest: Errors[Name]["data"] extends StandardSchema
        ? [data: InferInput<Errors[Name]["data"]>, options?: OptionsFor<Errors[Name]["code"], Options>]
        : [data?: undefined, options?: OptionsFor<Errors[Name]["code"], Options>]
    ) => never
  : (...args: never) => never;

/** A terminal code allows no `retryAfterMs`, because waiting cannot help. */
type OptionsFor<Code, Options> = Code extends TerminalCode ? undefined : Options;

/** Adds `reason` and `data` to an error of the peer that the schema declares. Data that does not match is reported. */
export type ReadError = (error: WsError, host: ErrorHost) => void;

/** What the reader uses: of a client the first parts of its core (see `client/core.ts`). */
export type ErrorHost = readonly [
  options: { readonly unknownKeys?: "reject" | "strip" | undefined },
  environment?: unknown,
  report?: (error: WsError, type: "validation", messageType: string) => void,
  ...unknown[],
];
