/** How the limits of the plugin and those of its host stand to each other. */
import type { AuthContext, BetterAuthOptions } from "@better-auth/core";
import { isProduction } from "@better-auth/core/env";
import { normalizePathname } from "@better-auth/core/utils/url";
import type { Call } from "../call.ts";
import { limitsAdvice } from "./create-limits.ts";
import type { FeatureFlagsRateLimit } from "./options.ts";

/** What all paths of the plugin begin with. */
const OURS = ["/feature-flags", "/ofrep"];

type HostRateLimit = AuthContext["rateLimit"];

/** What is changed in the context of Better Auth at its start. */
export type LimitsInit = { context: { rateLimit: HostRateLimit } };

export function initLimits(
  option: FeatureFlagsRateLimit | undefined,
  context: AuthContext,
  hasBus: boolean,
): LimitsInit {
  const advice = isProduction ? limitsAdvice(option, context, hasBus) : undefined;
  if (advice !== undefined) context.logger.warn(`[feature-flags] ${advice}`);
  return { context: { rateLimit: withoutOurPaths(context.rateLimit) } };
}

/**
 * Better Auth's limiter counts by address and exact path and answers in another form, so it leaves our paths to us.
 * The host's own rules come first, and Better Auth takes the first that matches.
 */
function withoutOurPaths(rateLimit: HostRateLimit): HostRateLimit {
  const { customRules = {} } = rateLimit;
  const ours = OURS.map((prefix) => `${prefix}/**`).filter((pattern) => !Object.hasOwn(customRules, pattern));
  const off = Object.fromEntries(ours.map((pattern) => [pattern, false as const]));
  return { ...rateLimit, customRules: { ...customRules, ...off } };
}

/** The host's own rule for a path, by its pattern, if Better Auth would apply one. */
export function hostRuleFor({ rateLimit }: BetterAuthOptions, path: string): string | undefined {
  return Object.keys(rateLimit?.customRules ?? {}).find((pattern) =>
    pattern.includes("*") ? globOf(pattern).test(path) : pattern === path,
  );
}

/** Whether the host has made a rule for just this path of ours. It then decides alone. */
export function isLimitedByHost({ context, request }: Call): boolean {
  if (context.options.rateLimit?.customRules === undefined) return false;
  // Only what has come through Better Auth has a URL; what has not, no rule of the host can match.
  if (request === undefined || !("url" in request) || typeof request.url !== "string") return false;
  const path = normalizePathname(request.url, new URL(context.baseURL).pathname);
  const rule = hostRuleFor(context.options, path);
  return rule !== undefined && OURS.some((prefix) => rule.startsWith(prefix));
}

const SLASH = String.raw`[/\\]`;
const OTHER = String.raw`[^/\\]`;
const ANYTHING = "[^]*";

/**
 * As Better Auth reads a pattern: `*` and `?` within a part of the path, `**` as a whole part for any parts, none
 * included, and `\` before what is meant as it is.
 */
function globOf(pattern: string): RegExp {
  const parts = pattern.split("/");
  const sources = parts.map((part, at) => {
    if (part === "" && at > 0) return "";
    const next = parts[at + 1];
    if (part !== "**") return sourceOf(part) + endOf(next);
    if (next === undefined) return ANYTHING;
    if (next === "**") return "";
    return at === 0 ? `(?:${ANYTHING}${SLASH})?` : `${SLASH}(?:${ANYTHING}${SLASH})?`;
  });
  return new RegExp(`^${sources.join("")}$`);
}

/** What comes between a part and the next; before `**` that is its own matter. */
function endOf(next: string | undefined): string {
  if (next === "**") return "";
  return next === undefined ? `${SLASH}*` : `${SLASH}+`;
}

function sourceOf(part: string): string {
  return part.replaceAll(/\\(.?)|\*|\?|[^\\*?]/g, (token, escaped: string | undefined) => {
    if (token === "*") return `${OTHER}*`;
    if (token === "?") return OTHER;
    return (escaped ?? token).replace(/[\\^$.*+?()|[\]{}]/, String.raw`\$&`);
  });
}
