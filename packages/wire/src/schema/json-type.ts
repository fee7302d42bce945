/** The compile-time side of `json-form.ts`: finds types without a JSON form in what a sender passes. */

type NonJson =
  | Date
  | bigint
  | symbol
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | ArrayBuffer
  | ArrayBufferView
  | PromiseLike<unknown>
  | ((...args: never[]) => unknown);

/** Types that surely have a JSON form. The comparison is much faster than `Search`, but interfaces do not match. */
export type Json =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Json[]
  | { readonly [key: string]: Json };

/** How deep types are searched. Recursive types have no end. */
type MaxDepth = 5;

/** Includes `true` when the type has a part without a JSON form. `unknown` and `any` may be anything, so they pass. */
type Search<T, Depth extends 0[] = []> = unknown extends T
  ? false
  : Depth["length"] extends MaxDepth
    ? false
    : // Bytes may be declared with `bytes()`; others are refused when the schema is made.
      T extends Uint8Array
      ? false
      : T extends NonJson
        ? true
        : T extends string | number | boolean | null | undefined
          ? false
          : T extends readonly (infer Element)[]
            ? Search<Element, [...Depth, 0]>
            : T extends object
              ? { [K in keyof T]: Search<T[K], [...Depth, 0]> }[keyof T]
              : false;

/** `unknown` for a type that can be sent as JSON; otherwise a type that no schema has, so that the compiler refuses it. */
export type RefuseNonJson<T> = [T] extends [Json] ? unknown : true extends Search<T> ? NoJsonForm : unknown;

/** The fields that are refused; `unknown` if there are none, so that editors show the argument as it was passed. */
export type OnlyRefused<Fields> = [RefusedKeys<Fields>] extends [never]
  ? unknown
  : { readonly [K in RefusedKeys<Fields>]: Fields[K] };

type RefusedKeys<Fields> = { [K in keyof Fields]: unknown extends Fields[K] ? never : K }[keyof Fields];

type NoJsonForm =
  "This type has no JSON form. Send a date as an ISO string, a bigint as a string, a Map as an object, a Set as an array, and bytes with bytes().";
