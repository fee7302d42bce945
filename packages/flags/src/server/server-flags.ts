/** Flags on the server with the types that were declared, and what a page is rendered with. */
import { ANONYMOUS_ID, type FlagState, type FlagsBootstrap } from "../model/bootstrap.ts";
import {
  type BooleanFlagKey,
  type FlagDeclarations,
  type FlagKey,
  type FlagValue,
  fitsDeclaration,
  type JsonValue,
  type ReadValue,
  type VariantKey,
} from "../model/declared.ts";
import type { ClaimedContext } from "../model/evaluation.ts";
import type { FeatureFlagsEndpoints } from "./endpoints.ts";

/** The part of an auth instance that is needed to evaluate its flags. */
export type AuthWithEvaluation = {
  readonly api: Pick<FeatureFlagsEndpoints, "evaluateFeatureFlag" | "bootstrapFeatureFlags">;
};

/** For whom a flag is read. */
export type ServerReadOptions = {
  /** Of the request that is being answered: the session in them decides who is asking. */
  headers?: Headers | undefined;
  /** Beside the session; without `headers` it may say anything. */
  context?: ClaimedContext | undefined;
  environment?: string | undefined;
};

/** Reads never throw: without an answer they give the default, and say why on the console. */
export interface ServerFlags<Flags extends FlagDeclarations> {
  isEnabled(
    key: BooleanFlagKey<Flags>,
    options?: ServerReadOptions,
    defaultValue?: boolean,
  ): Promise<boolean>;
  getValue<Key extends FlagKey<Flags>>(key: Key, options?: ServerReadOptions): Promise<ReadValue<Flags, Key>>;
  getValue<Key extends FlagKey<Flags>>(
    key: Key,
    options: ServerReadOptions,
    defaultValue: FlagValue<Flags, Key>,
  ): Promise<FlagValue<Flags, Key>>;
  getVariant<Key extends FlagKey<Flags>>(
    key: Key,
    options?: ServerReadOptions,
  ): Promise<VariantKey<Flags, Key> | null>;
  /** All flags for the page that is being rendered; undefined when there is no answer. */
  bootstrap(options: ServerReadOptions): Promise<FlagsBootstrap | undefined>;
}

/**
 * Reads flags in server code, typed by what `defineFlags` declared.
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
  const declarationOf = (key: string) =>
    declared !== undefined && Object.hasOwn(declared, key) ? declared[key] : undefined;

  async function read(key: string, options: ServerReadOptions = {}): Promise<FlagState | undefined> {
    try {
      const { headers, context, environment } = withVisitor(options);
      const { value, variant, reason } = await api.evaluateFeatureFlag({
        body: { flagKey: key, ...(context && { context }), ...(environment && { environment }) },
        ...(headers && { headers }),
      });
      const declaration = declarationOf(key);
      if (reason === "not_found" || (declaration && !fitsDeclaration(declaration, value))) return undefined;
      return { value, ...(variant !== undefined && { variant }), reason };
    } catch (error) {
      console.error(`[feature-flags] ${key} could not be evaluated; its default was given.`, error);
      return undefined;
    }
  }

  const flags = {
    async isEnabled(key: string, options?: ServerReadOptions, defaultValue?: boolean): Promise<boolean> {
      const state = await read(key, options);
      if (typeof state?.value === "boolean") return state.value;
      return defaultValue ?? declarationOf(key)?.default === true;
    },
    async getValue(
      key: string,
      options?: ServerReadOptions,
      defaultValue?: JsonValue,
    ): Promise<JsonValue | undefined> {
      const state = await read(key, options);
      if (state !== undefined) return state.value;
      return defaultValue === undefined ? declarationOf(key)?.default : defaultValue;
    },
    async getVariant(key: string, options?: ServerReadOptions): Promise<string | null> {
      const variant = (await read(key, options))?.variant;
      const known = declarationOf(key)?.variants;
      return variant === undefined || known?.includes(variant) === false ? null : variant;
    },
    async bootstrap(options: ServerReadOptions): Promise<FlagsBootstrap | undefined> {
      try {
        const { headers, context, environment } = withVisitor(options);
        // A visitor without an id gets one here, and the page keeps it. What is rendered for no request is for many.
        const anonymousId = context?.anonymousId ?? (headers && crypto.randomUUID());
        const visitor = anonymousId === undefined ? {} : { anonymousId };
        const answer = await api.bootstrapFeatureFlags({
          body: {
            includeDisabled: true,
            select: ["value", "variant", "reason"],
            context: { ...context, ...visitor },
            ...(environment && { environment }),
          },
          ...(headers && { headers }),
        });
        // Not all of the context: the page has no use for the rest of it.
        const { userId, organizationId } = answer.context;
        return {
          flags: answer.flags,
          evaluatedAt: answer.evaluatedAt,
          context: {
            ...(userId !== undefined && { userId }),
            ...(organizationId !== undefined && { organizationId }),
            ...visitor,
          },
        };
      } catch (error) {
        console.error("[feature-flags] A page is rendered without flags.", error);
        return undefined;
      }
    },
  };
  // The implementation knows keys as text; the declared flags make the types narrower.
  return flags as unknown as ServerFlags<Flags>;
}

/** The visitor is who the page's cookie says, unless the caller knows better. */
function withVisitor(options: ServerReadOptions): ServerReadOptions {
  const { headers, context } = options;
  const kept = ANONYMOUS_ID.exec(headers?.get("cookie") ?? "")?.[1];
  return kept === undefined ? options : { ...options, context: { anonymousId: kept, ...context } };
}

/**
 * What a page is rendered with, as text for a `<script type="application/json">` or a script's right-hand side: nothing
 * in it can end the element or the statement.
 */
export function serializeBootstrap(bootstrap: FlagsBootstrap | undefined): string {
  return JSON.stringify(bootstrap ?? null).replace(
    /[<\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
