/** Host features that force a request through Better Auth. */
import type { HostContext } from "../http/host-request.ts";
import { hostRuleFor } from "../limits/host.ts";

type Plugin = NonNullable<HostContext["options"]["plugins"]>[number];
type Hook = NonNullable<NonNullable<Plugin["hooks"]>["before"]>[number];
type HookContext = Parameters<Hook["matcher"]>[0];

/**
 * Plugins whose hooks run for every request but do not change the answers of flags: they identify the caller, which the
 * fast path does by the same headers, or forward cookies, of which these answers have none.
 */
const HARMLESS_HOOKS: ReadonlySet<string> = new Set([
  "bearer",
  "last-login-method",
  "multi-session",
  "next-cookies",
  "one-time-token",
  "sveltekit-cookies",
  "tanstack-start-cookies",
  "tanstack-start-cookies-solid",
]);

/** Why the fast path must stay off; undefined when it may answer. `own` is the featureFlags plugin. */
export function reasonToStepAside(
  context: HostContext,
  own: object,
  paths: readonly string[],
): string | undefined {
  const { options } = context;
  if (options.hooks?.before !== undefined || options.hooks?.after !== undefined) {
    return "The host has hooks, which run inside Better Auth.";
  }
  if (options.onAPIError?.throw === true || options.onAPIError?.onError !== undefined) {
    return "The host handles errors with onAPIError, which runs inside Better Auth.";
  }
  if (typeof options.baseURL === "object") return "The base URL depends on the request.";
  for (const plugin of options.plugins ?? []) {
    const reason = plugin === own ? undefined : reasonOf(plugin, context, paths);
    if (reason !== undefined) return `The plugin ${plugin.id} ${reason}.`;
  }
  return undefined;
}

/** Why Better Auth must answer this path; undefined when the fast path may. */
export function reasonForPath({ options, rateLimit }: HostContext, path: string): string | undefined {
  if (options.disabledPaths?.includes(path) === true) return "disabledPaths names it";
  if (rateLimit.enabled && hostRuleFor(options, path) !== undefined) return "rateLimit.customRules limits it";
  return undefined;
}

function reasonOf(plugin: Plugin, context: HostContext, paths: readonly string[]): string | undefined {
  if (plugin.onRequest !== undefined && !isCaptchaElsewhere(plugin, paths)) return "has onRequest";
  if (plugin.onResponse !== undefined) return "has onResponse";
  for (const { path } of plugin.middlewares ?? []) {
    if (paths.some((one) => matchesRoute(path, one))) return `has a middleware for ${path}`;
  }
  for (const endpoint of Object.values(plugin.endpoints ?? {})) {
    if (endpoint.path !== undefined && paths.includes(endpoint.path))
      return `answers ${endpoint.path} itself`;
  }
  const { before = [], after = [] } = plugin.hooks ?? {};
  if (plugin.id === "api-key") {
    return before.some((hook) => couldMatch(hook, context, paths, "x-api-key"))
      ? "takes keys from elsewhere than x-api-key"
      : undefined;
  }
  if (HARMLESS_HOOKS.has(plugin.id)) return undefined;
  return [...before, ...after].some((hook) => couldMatch(hook, context, paths))
    ? "has a hook for the paths of flags"
    : undefined;
}

/** The captcha plugin checks only the paths it is configured with, by default none of flags. */
function isCaptchaElsewhere({ id, options }: Plugin, paths: readonly string[]): boolean {
  if (id !== "captcha" || options === undefined) return false;
  const endpoints: unknown = options["endpoints"] ?? [];
  return (
    Array.isArray(endpoints) &&
    endpoints.every((endpoint) => !String(endpoint).includes("*") && !paths.includes(endpoint))
  );
}

/**
 * Calls a hook's matcher for a request without headers, and for one that has every header but `except`. A matcher that
 * throws counts as a match.
 */
function couldMatch(hook: Hook, context: HostContext, paths: readonly string[], except?: string): boolean {
  const everyHeader = new EveryHeader(except);
  for (const path of paths) {
    for (const headers of [new Headers(), everyHeader]) {
      try {
        const asked = {
          path,
          headers,
          request: requestOf(path, headers),
          body: {},
          query: {},
          method: "POST",
        };
        if (hook.matcher({ ...asked, params: {}, context } as unknown as HookContext)) return true;
      } catch {
        return true;
      }
    }
  }
  return false;
}

function requestOf(path: string, headers: Headers): Request {
  const request = new Request(`http://localhost${path}`, { method: "POST" });
  Object.defineProperty(request, "headers", { value: headers });
  return request;
}

class EveryHeader extends Headers {
  readonly #except: string | undefined;

  constructor(except: string | undefined) {
    super();
    this.#except = except;
  }

  override get(name: string): string | null {
    return name.toLowerCase() === this.#except ? null : "x";
  }

  override has(name: string): boolean {
    return name.toLowerCase() !== this.#except;
  }
}

/** As the router reads a path: `*` and `:name` for one part, `**` for any number of them. */
function matchesRoute(route: string, path: string): boolean {
  const source = route
    .split("/")
    .map((part) => {
      if (part.startsWith("**")) return ".*";
      return part.startsWith(":") || part === "*"
        ? "[^/]*"
        : part.replaceAll(/[\\^$.*+?()|[\]{}]/g, String.raw`\$&`);
    })
    .join("/");
  return new RegExp(`^${source.replaceAll("/.*", "(?:/.*)?")}/?$`).test(path);
}
