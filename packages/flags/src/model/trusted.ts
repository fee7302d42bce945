/** Trusted attributes: the option that names them, and their paths. */
import type { JsonValue } from "../engine/json.ts";

/** A row of the host's database: its `id`, and its other fields by name. */
export type TrustedRow = { readonly id: string } & { readonly [field: string]: unknown };

/** What `compute` is called with. At least one of `user` and `organization` is present. */
export type TrustedComputeInput = {
  /** The row of the user that flags are evaluated for. */
  readonly user?: TrustedRow;
  /** The row of the organization in the context. */
  readonly organization?: TrustedRow;
  /** The row of the caller's session. Absent when a flag is evaluated for another user than the caller. */
  readonly session?: TrustedRow;
};

/** What `compute` returns. A date becomes an ISO date; `undefined` is a missing attribute. */
export type TrustedResult = { readonly [name: string]: JsonValue | Date | undefined };

/** The option `trusted` of `featureFlags()`. */
export type TrustedOptions = {
  /** Fields of the user's row that rules read as `user.<field>`. Default: none. */
  readonly user?: readonly string[] | undefined;
  /** Fields of the session's row that rules read as `session.<field>`. Default: none. */
  readonly session?: readonly string[] | undefined;
  /** Fields of the organization's row that rules read as `organization.<field>`. Default: none. */
  readonly organization?: readonly string[] | undefined;
  /**
   * Fields of the lists above that users may write themselves, such as `"user.nickname"`. Explanations show them as
   * `self_declared`. Default: none, and a field that users may write is refused at the start.
   */
  readonly selfDeclared?: readonly string[] | undefined;
  /**
   * Computes the attributes that rules read as `trusted.<name>`. The result is kept per user and organization. A call
   * that takes longer than 1 s counts as failed. While it fails, the last result is used for 10 minutes; after that, the
   * rules that read `trusted` are skipped. Default: none.
   */
  readonly compute?: ((input: TrustedComputeInput) => TrustedResult | Promise<TrustedResult>) | undefined;
  /** How long a result of `compute` is kept, in ms. Default 60,000. */
  readonly ttlMs?: number | undefined;
};

type FieldPath<Root extends string, Fields> = Fields extends readonly (infer Field extends string)[]
  ? `${Root}.${Field}`
  : never;

type ComputedPath<Trusted> = Trusted extends { readonly compute: (...input: never[]) => infer Result }
  ? NamedPath<Extract<keyof Awaited<Result>, string>>
  : never;

type NamedPath<Name extends string> = `trusted.${Name}` | `trusted.${Name}.${string}`;

/** The paths of the trusted attributes that `defineTrusted` was given, such as `"user.plan"`. */
export type TrustedPath<Trusted extends TrustedOptions> =
  | FieldPath<"user", Trusted["user"]>
  | FieldPath<"session", Trusted["session"]>
  | FieldPath<"organization", Trusted["organization"]>
  | ComputedPath<Trusted>;

/**
 * Declares the trusted attributes for the option `trusted`, with types for `flagConditions`.
 *
 * ```ts
 * import { defineTrusted, featureFlags } from "@halyard/flags";
 * import { betterAuth } from "better-auth";
 *
 * const trusted = defineTrusted({ user: ["plan"], compute: async ({ user }) => ({ seats: user ? 12 : 0 }) });
 * const auth = betterAuth({
 *   user: { additionalFields: { plan: { type: "string", required: false, input: false } } },
 *   plugins: [featureFlags({ trusted })],
 * });
 * ```
 */
export function defineTrusted<const Trusted extends TrustedOptions>(trusted: Trusted): Trusted {
  return trusted;
}
