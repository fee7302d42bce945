/**
 * The type of a method of `auth.api`: one call signature, because editors show the doc comment of a method only if it
 * has no overloads. Better Auth's own type of an endpoint has eight.
 */

/** What every call may have beside its input, as in Better Auth. */
export type CallOptions<
  AsResponse extends boolean,
  WithHeaders extends boolean,
  WithStatus extends boolean,
> = {
  /** The headers of the caller. With any, the call is not trusted. Default: a call of server code. */
  headers?: HeadersInit | undefined;
  /** The request of the caller. Default: none. */
  request?: Request | undefined;
  /** Resolves to a `Response`. Default `false`. */
  asResponse?: AsResponse | undefined;
  /** Resolves to `{ headers, response }`. Default `false`. */
  returnHeaders?: WithHeaders | undefined;
  /** Resolves to `{ status, response }`. Default `false`. */
  returnStatus?: WithStatus | undefined;
};

/** What a call resolves to. */
export type CallResult<
  Output,
  AsResponse extends boolean,
  WithHeaders extends boolean,
  WithStatus extends boolean,
> = [AsResponse] extends [true]
  ? Response
  : [WithHeaders, WithStatus] extends [true, true]
    ? { headers: Headers; status: number; response: Output }
    : [WithHeaders] extends [true]
      ? { headers: Headers; response: Output }
      : [WithStatus] extends [true]
        ? { status: number; response: Output }
        : Output;

/** A method whose input is required, or optional if it has no required field. */
export type Method<Input, Output> =
  Record<never, never> extends Input
    ? <
        AsResponse extends boolean = false,
        WithHeaders extends boolean = false,
        WithStatus extends boolean = false,
      >(
        call?: Input & CallOptions<AsResponse, WithHeaders, WithStatus>,
      ) => Promise<CallResult<Output, AsResponse, WithHeaders, WithStatus>>
    : <
        AsResponse extends boolean = false,
        WithHeaders extends boolean = false,
        WithStatus extends boolean = false,
      >(
        call: Input & CallOptions<AsResponse, WithHeaders, WithStatus>,
      ) => Promise<CallResult<Output, AsResponse, WithHeaders, WithStatus>>;
