/** Host features that force a request through Better Auth. */
import { isHarmlessPlugin, KEY_HEADER } from "@halyard/sessions/plugin";
import type { HostContext } from "../http/host-request.ts";
import { hostRuleFor } from "../limits/host.ts";

type Plugin = NonNullable<HostContext["options"]["plugins"]>[number];
type Hook = NonNullable<NonNullable<Plugin["hooks"]>["before"]>[number];
type HookContext = Parameters<Hook["matcher"]>[0];

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
    const reason = plugin === own ? undefined : reasonOf(plugin, paths);
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

function reasonOf(plugin: Plugin, paths: readonly string[]): string | undefined {
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
  const hooks = [...before, ...after];
  if (plugin.id === "api-key") {
    return hooks.every(dependsOnKeyHeader) ? undefined : "takes keys from elsewhere than x-api-key";
  }
  // The fast path identifies callers by the same headers, and its answers have no cookies.
  return isHarmlessPlugin(plugin) ? undefined : "has hooks";
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
 * Whether a hook of the API key plugin runs only for requests with the header that the fast path takes keys from. The
 * plugin does not show its options, so its matcher is called and what it reads is recorded.
 */
function dependsOnKeyHeader({ matcher }: Hook): boolean {
  let readsMore = false;
  const watched = (allowed: string, value: unknown) =>
    new Proxy(
      {},
      {
        get(_, property) {
          if (property === allowed) return value;
          readsMore = true;
          return undefined;
        },
      },
    );
  const matches = (key: string | null) => {
    const get = (name: string) => {
      if (name.toLowerCase() === KEY_HEADER) return key;
      readsMore = true;
      return null;
    };
    return matcher(watched("headers", watched("get", get)) as HookContext);
  };
  try {
    const matchesWithout = matches(null);
    matches("x");
    return !matchesWithout && !readsMore;
  } catch {
    return false;
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
