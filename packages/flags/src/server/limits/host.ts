/** Keeps Better Auth's rate limiter away from the plugin's paths, except for rules the host made for them. */
import type { AuthContext, BetterAuthOptions } from "@better-auth/core";
import { normalizePathname } from "@better-auth/core/utils/url";
import type { HostRequest } from "../http/host-request.ts";

/** The prefixes of the plugin's paths. */
const PREFIXES = ["/feature-flags", "/ofrep"];

export type HostRateLimit = AuthContext["rateLimit"];

/**
 * Better Auth's limiter counts by address and exact path and has another error format, so it is turned off for the
 * plugin's paths. The host's rules come first, because Better Auth applies the first rule that matches.
 */
export function withoutPluginPaths(rateLimit: HostRateLimit): HostRateLimit {
  const { customRules = {} } = rateLimit;
  const patterns = PREFIXES.map((prefix) => `${prefix}/**`).filter(
    (pattern) => !Object.hasOwn(customRules, pattern),
  );
  const off = Object.fromEntries(patterns.map((pattern) => [pattern, false as const]));
  return { ...rateLimit, customRules: { ...customRules, ...off } };
}

/** The pattern of the host's rule that Better Auth applies to a path, if any. */
export function hostRuleFor({ rateLimit }: BetterAuthOptions, path: string): string | undefined {
  return Object.keys(rateLimit?.customRules ?? {}).find((pattern) =>
    pattern.includes("*") ? globOf(pattern).test(path) : pattern === path,
  );
}

/** Whether the host has a rule for this path of the plugin. That rule then replaces the plugin's limits. */
export function isLimitedByHost({ context, request }: HostRequest): boolean {
  if (context.options.rateLimit?.customRules === undefined) return false;
  // Only requests through Better Auth have a URL, and the host's rules apply only to these.
  if (request === undefined || !("url" in request) || typeof request.url !== "string") return false;
  const path = normalizePathname(request.url, new URL(context.baseURL).pathname);
  const rule = hostRuleFor(context.options, path);
  return rule !== undefined && PREFIXES.some((prefix) => rule.startsWith(prefix));
}

const SLASH = String.raw`[/\\]`;
const OTHER = String.raw`[^/\\]`;
const ANYTHING = "[^]*";

/**
 * Converts a pattern as Better Auth does: `*` and `?` match within one path segment, `**` as a whole segment matches any
 * number of segments, and `\` escapes a character.
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

/** The separator after a segment. `**` includes its own separators. */
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
