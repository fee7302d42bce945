/**
 * Everything that the fast path assumes about Better Auth and its plugins. What does not hold turns it off, and health
 * names it; or Better Auth answers the request.
 */
import { isHarmlessPlugin, KEY_HEADER, type ReadHeader } from "@halyard/sessions/plugin";
import { isPlainObject } from "../../engine/json.ts";
import { hostRuleFor } from "../limits/host.ts";
import type { HostContext, HostRequest } from "./host-request.ts";

type Plugin = NonNullable<HostContext["options"]["plugins"]>[number];
type Hook = NonNullable<NonNullable<Plugin["hooks"]>["before"]>[number];
type HookContext = Parameters<Hook["matcher"]>[0];

/** Fields in which Better Auth expects a trusted URL, in any request. */
const REDIRECTS = ["callbackURL", "redirectTo", "errorCallbackURL", "newUserCallbackURL"];

/** The members of Better Auth's context that replace its own checks, with their types. */
const MEMBERS: Readonly<Record<string, string>> = {
  isTrustedOrigin: "function",
  baseURL: "string",
  rateLimit: "object",
  options: "object",
};

/** The headers that Better Auth gives to responses of these endpoints. */
export const USUAL_HEADERS: readonly string[] = [
  "content-type",
  "application/json",
  "cache-control",
  "no-store",
  "pragma",
  "no-cache",
];

/** Whether Better Auth accepts the media type as JSON. */
export function isJson(contentType: string | null): boolean {
  if (contentType === "application/json") return true;
  if (contentType === null) return false;
  return /^application\/json\s*(?:;|$)/.test(contentType.toLowerCase());
}

/** Whether Better Auth would check a URL in the body. */
export function hasRedirect(body: unknown): boolean {
  return isPlainObject(body) && REDIRECTS.some((field) => field in body);
}

/**
 * Whether an endpoint may return its response as text: a request over HTTP whose result no hook reads. Better Auth's router
 * marks such requests; other callers get the object.
 */
export function writesText(request: HostRequest): boolean {
  if (!("_flag" in request) || request._flag !== "router") return false;
  const { hooks, plugins = [] } = request.context.options;
  return hooks?.after === undefined && plugins.every((plugin) => !plugin.hooks?.after?.length);
}

/** Why the fast path must stay off; undefined when it may answer. `own` is the featureFlags plugin. */
export function reasonToStepAside(
  context: HostContext,
  own: object,
  paths: readonly string[],
): string | undefined {
  const { options } = context;
  for (const [name, type] of Object.entries(MEMBERS)) {
    const found = typeof Reflect.get(context, name);
    if (found !== type) return `Better Auth's context has no ${name} of type ${type}, but of type ${found}.`;
  }
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
 * plugin does not show its options, so its matcher is called with a context in which everything else throws.
 */
function dependsOnKeyHeader({ matcher }: Hook): boolean {
  const matches = (key: string | null) => {
    const get = (name: string) => (name.toLowerCase() === KEY_HEADER ? key : unexpected(name));
    return matcher(onlyWith("headers", onlyWith("get", get)) as HookContext);
  };
  try {
    matches("x");
    return !matches(null);
  } catch {
    return false;
  }
}

function onlyWith(allowed: string, value: unknown): object {
  return new Proxy({}, { get: (_, name) => (name === allowed ? value : unexpected(String(name))) });
}

function unexpected(name: string): never {
  throw new Error(`The matcher reads ${name}.`);
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

/** Origins remembered as trusted. */
const MAX_ORIGINS = 1000;

/** A function that accepts the origin of a request to this path only when Better Auth would. When in doubt, Better Auth decides. */
export function createOriginCheck(context: HostContext, path: string): (header: ReadHeader) => boolean {
  if (isUnchecked(context, path)) return () => true;
  const isTrusted = trustOf(context);
  const trusted = new Set<string>();
  return (header) => {
    if (!header("cookie")) return true;
    const origin = header("origin");
    if (!origin || origin === "null") return false;
    if (trusted.has(origin)) return true;
    if (!isTrusted(origin)) return false;
    if (trusted.size >= MAX_ORIGINS) trusted.clear();
    trusted.add(origin);
    return true;
  };
}

function isUnchecked({ skipCSRFCheck, skipOriginCheck }: HostContext, path: string): boolean {
  if (skipCSRFCheck || skipOriginCheck === true) return true;
  if (!Array.isArray(skipOriginCheck)) return false;
  return skipOriginCheck.some((skipped) => {
    const bare = skipped.replace(/\/+$/, "");
    return path === bare || path.startsWith(`${bare}/`);
  });
}

/** The origins that Better Auth trusts for every request. A host's function may trust more; only Better Auth calls it. */
function trustOf(context: HostContext): (origin: string) => boolean {
  if (typeof context.options.trustedOrigins !== "function") {
    return (origin) => context.isTrustedOrigin(origin, { allowRelativePaths: false });
  }
  const own = context.baseURL === "" ? undefined : new URL(context.baseURL).origin;
  return (origin) => origin === own;
}
