/** Reads flags in server code with their declared types, and collects the flags a page is rendered with. */
import { ANONYMOUS_ID, type FlagState, type FlagsBootstrap } from "../model/bootstrap.ts";
import type {
  BooleanFlagKey,
  FlagDeclarations,
  FlagKey,
  FlagValue,
  JsonValue,
  ReadValue,
  VariantKey,
} from "../model/declared.ts";
import { findMisfit } from "../model/declared-shape.ts";
import type { ClaimedContext, EvaluateFeatureFlagInput, EvaluationResult } from "../model/evaluation.ts";
import { NO_POSITION } from "../model/position.ts";
import { withoutPlugin } from "./help.ts";
import type { FeatureFlagsEndpoints } from "./operations/endpoints.ts";

/** The part of an auth instance that evaluates flags. */
export type AuthWithEvaluation = {
  /** The methods of `auth.api` that evaluate flags. */
  readonly api: EvaluationMethods;
};

/** The methods that evaluate. `evaluateFeatureFlag` may accept the keys of declared flags only. */
export type EvaluationMethods = Pick<FeatureFlagsEndpoints, "bootstrapFeatureFlags"> & {
  /** Evaluates one flag. */
  evaluateFeatureFlag(call: never): Promise<unknown>;
};

/** `evaluateFeatureFlag` for any key. */
type Evaluate = (call: {
  body: EvaluateFeatureFlagInput<"full">;
  headers?: HeadersInit;
}) => Promise<EvaluationResult<"full">>;

/** Most messages about values that are not as declared. A user's own values could make any number of them. */
const MAX_WARNINGS = 100;

/** Whom a page is rendered for: `headers`, `context`, both, or `server: true`. The page reports itself which flags it showed. */
export type ServerBootstrapOptions = {
  /** Headers of the incoming request. Their session or API key identifies the caller. */
  headers?: Headers | undefined;
  /** Additional context, such as attributes. Without `headers`, every field is used as given. */
  context?: ClaimedContext | undefined;
  /** `true`: server code reads the flag for no user, as in a cron job or a page that is cached for everyone. */
  server?: boolean | undefined;
  /** The environment to evaluate in, such as `"beta"`. */
  environment?: string | undefined;
} & ({ headers: Headers } | { context: ClaimedContext } | { server: true });

/** Whom a flag is evaluated for: `headers`, `context`, both, or `server: true`. */
export type ServerReadOptions = ServerBootstrapOptions & {
  /** Records that the flag was shown to the user, for statistics. Default `false`. */
  track?: boolean | undefined;
};

/** Reads never throw. If an evaluation fails, they return the default and log the error on the console. */
export interface ServerFlags<Flags extends FlagDeclarations> {
  /** Whether a boolean flag is on. Default for a flag that does not exist: the declared one, else `false`. */
  isEnabled(key: BooleanFlagKey<Flags>, options: ServerReadOptions, defaultValue?: boolean): Promise<boolean>;
  /** The flag's value. The default applies if the flag does not exist or its value is not as declared. */
  getValue<Key extends FlagKey<Flags>>(key: Key, options: ServerReadOptions): Promise<ReadValue<Flags, Key>>;
  getValue<Key extends FlagKey<Flags>>(
    key: Key,
    options: ServerReadOptions,
    defaultValue: FlagValue<Flags, Key>,
  ): Promise<FlagValue<Flags, Key>>;
  /** The key of the variant, or null if the flag has none. */
  getVariant<Key extends FlagKey<Flags>>(
    key: Key,
    options: ServerReadOptions,
  ): Promise<VariantKey<Flags, Key> | null>;
  /** All flags for the page that is being rendered; undefined if the evaluation fails. */
  bootstrap(options: ServerBootstrapOptions): Promise<FlagsBootstrap | undefined>;
}

/**
 * Creates helpers that read flags in server code, with the types declared with `defineFlags`.
 *
 * @example
 * ```ts
 * import { createServerFlags, defineFlags, featureFlags } from "@halyard/flags";
 * import { betterAuth } from "better-auth";
 *
 * const declared = defineFlags({ "new-checkout": { type: "boolean", default: false } });
 * const auth = betterAuth({ plugins: [featureFlags({ flags: declared })] });
 * const flags = createServerFlags(auth, declared);
 *
 * export async function checkout(request: Request): Promise<string> {
 *   return (await flags.isEnabled("new-checkout", { headers: request.headers })) ? "new" : "as you know it";
 * }
 * ```
 */
export function createServerFlags<const Flags extends FlagDeclarations = FlagDeclarations>(
  { api }: AuthWithEvaluation,
  declared?: Flags,
): ServerFlags<Flags> {
  if (typeof api.evaluateFeatureFlag !== "function") throw withoutPlugin("createServerFlags");
  const evaluate = api.evaluateFeatureFlag as Evaluate;
  const declarationOf = (key: string) =>
    declared !== undefined && Object.hasOwn(declared, key) ? declared[key] : undefined;

  const warned = new Set<string>();
  function warnOnce(key: string, misfit: string): void {
    const message = `[feature-flags] Flag "${key}" is not as declared: value${misfit}. The default is used. Change the stored flag or its declaration.`;
    if (warned.has(message) || warned.size >= MAX_WARNINGS) return;
    warned.add(message);
    console.error(message);
  }

  async function read(key: string, options: ServerReadOptions): Promise<FlagState | undefined> {
    try {
      const { headers, context, environment, track } = withVisitor(options);
      const { value, variant, reason } = await evaluate({
        body: {
          flagKey: key,
          ...(context && { context }),
          ...(environment && { environment }),
          ...(track === true && { track }),
        },
        ...(headers && { headers }),
      });
      if (reason === "not_found") return undefined;
      const declaration = declarationOf(key);
      const misfit = declaration && findMisfit(declaration, value);
      if (misfit !== undefined) {
        warnOnce(key, misfit);
        return undefined;
      }
      return { value, ...(variant !== undefined && { variant }), reason };
    } catch (error) {
      console.error(`[feature-flags] The flag "${key}" could not be evaluated. The default is used.`, error);
      return undefined;
    }
  }

  const flags = {
    async isEnabled(key: string, options: ServerReadOptions, defaultValue?: boolean): Promise<boolean> {
      const state = await read(key, options);
      if (typeof state?.value === "boolean") return state.value;
      return defaultValue ?? declarationOf(key)?.default === true;
    },
    async getValue(
      key: string,
      options: ServerReadOptions,
      defaultValue?: JsonValue,
    ): Promise<JsonValue | undefined> {
      const state = await read(key, options);
      if (state !== undefined) return state.value;
      return defaultValue === undefined ? declarationOf(key)?.default : defaultValue;
    },
    async getVariant(key: string, options: ServerReadOptions): Promise<string | null> {
      const variant = (await read(key, options))?.variant;
      const declaredVariants = declarationOf(key)?.variants;
      return variant === undefined || declaredVariants?.includes(variant) === false ? null : variant;
    },
    async bootstrap(options: ServerBootstrapOptions): Promise<FlagsBootstrap | undefined> {
      try {
        const { headers, context, environment } = withVisitor(options);
        // The server chooses the id of a new anonymous visitor, and the page stores it. Without headers, the page may be
        // cached for many visitors, so it gets no id.
        const anonymousId = context?.anonymousId ?? (headers && crypto.randomUUID());
        const visitor = anonymousId === undefined ? {} : { anonymousId };
        const answer = await api.bootstrapFeatureFlags({
          body: {
            includeDisabled: true,
            position: NO_POSITION,
            exposures: true,
            select: ["value", "variant", "reason"],
            context: { ...context, ...visitor },
            ...(environment && { environment }),
          },
          ...(headers && { headers }),
        });
        // The page needs only these fields of the context.
        const { userId, organizationId } = answer.context;
        return {
          flags: answer.flags,
          evaluatedAt: answer.evaluatedAt,
          context: {
            ...(userId !== undefined && { userId }),
            ...(organizationId !== undefined && { organizationId }),
            ...visitor,
          },
          ...(answer.position && { position: answer.position }),
          ...(answer.exposures && { exposures: answer.exposures }),
        };
      } catch (error) {
        console.error(
          "[feature-flags] The flags could not be evaluated. The page is rendered with defaults.",
          error,
        );
        return undefined;
      }
    },
  };
  // The implementation uses string keys; the declared flags only narrow the types.
  return flags as unknown as ServerFlags<Flags>;
}

/** Adds the anonymous visitor's id from the cookie, unless the context has one. */
function withVisitor(options: Partial<ServerReadOptions> = {}): Partial<ServerReadOptions> {
  const { headers, context, server } = options;
  if (headers === undefined && context === undefined && server !== true) {
    throw new TypeError(
      "The call does not say for whom. Pass `headers` of the request, a `context`, or `server: true` to read the flag for no user.",
    );
  }
  const anonymousId = ANONYMOUS_ID.exec(headers?.get("cookie") ?? "")?.[1];
  return anonymousId === undefined ? options : { ...options, context: { anonymousId, ...context } };
}

/**
 * Serializes the flags of a page for a `<script type="application/json">` element or the right-hand side of a script
 * statement. The text cannot end the element or the statement.
 */
export function serializeBootstrap(bootstrap: FlagsBootstrap | undefined): string {
  return JSON.stringify(bootstrap ?? null).replace(
    /[<\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
