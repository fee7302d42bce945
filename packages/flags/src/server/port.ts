/**
 * How the copies of this package work together: a bundler may load it more than once, and each copy has its own state and
 * classes. The plugin object carries a port. Every function that takes an auth instance finds the port, and calls it.
 */
import type { AuditHead, AuditVerdict } from "../model/audit.ts";
import type { FastPath, Wrapped } from "./fast/host-path.ts";
import { withoutPlugin } from "./help.ts";
import type { HostContext } from "./http/host-request.ts";
import type { FeatureFlagsOptions } from "./options.ts";
import type { LiveState } from "./service.ts";

const PORT: unique symbol = Symbol.for("@halyard/flags");
/** Raise it when a member of the port changes, or what a member gives. */
const VERSION = 1;

/** What is no option, and tests set. */
export interface Bounds {
  /** Interval of the check for changes by other processes. Default 500 ms. */
  readonly pollMs?: number | undefined;
  /** Events that may wait to be written. Default 10,000. */
  readonly maxQueued?: number | undefined;
  /** How long a request waits for the shared store of the rate limits. Default 2 s. */
  readonly maxWaitMs?: number | undefined;
}

/** What a copy needs to create services of its own for the auth instances of a plugin. */
export interface PluginSetup {
  readonly options: FeatureFlagsOptions;
  readonly bounds: Bounds;
  /** Whether `closeFeatureFlags` was called for the auth instance with this adapter. */
  isClosed(adapter: object): boolean;
  /** What the services of all copies share for the auth instance with this adapter. */
  liveOf(adapter: object): LiveState;
  /** Called by `closeFeatureFlags`. */
  onClose(adapter: object, stop: () => Promise<void>): void;
}

/** What a plugin object offers to other copies. Its functions run in the copy that made the plugin. */
export interface PluginPort {
  readonly setup: PluginSetup;
  /** The auth instances that `withFeatureFlags` returned. */
  readonly wrapped: WeakMap<object, Wrapped>;
  openHostPath(context: HostContext): FastPath | undefined;
  /** The header value that marks the console's requests. */
  consoleMark(context: HostContext): string;
  verifyAudit(
    context: HostContext,
    tenant: string,
    head: Pick<AuditHead, "revision" | "hash"> | undefined,
  ): Promise<AuditVerdict>;
  /** Delivers the events that wait for sinks. */
  deliver(context: HostContext): Promise<number>;
  close(adapter: object): Promise<void>;
}

type Carrier = object & { readonly [PORT]?: PluginPort & { readonly version: number } };

/** The part of an auth instance in which its plugins are found. */
export interface AuthWithPlugins {
  readonly options: { readonly plugins?: readonly object[] | undefined };
}

export function attachPort(plugin: object, port: PluginPort): void {
  Object.assign(plugin, { [PORT]: { ...port, version: VERSION } });
}

/** The port of the featureFlags plugin. `caller` is the function that needs it, for the error's message. */
export function portOf(auth: AuthWithPlugins, caller: string): PluginPort {
  const port = findPort(auth, caller);
  if (port === undefined) throw withoutPlugin(caller);
  return port;
}

/** The same, undefined without the plugin. */
export function findPort({ options }: AuthWithPlugins, caller: string): PluginPort | undefined {
  const carriers: readonly Carrier[] = options.plugins ?? [];
  const port = carriers.find((plugin) => plugin[PORT] !== undefined)?.[PORT];
  if (port === undefined || port.version === VERSION) return port;
  throw new TypeError(
    `${caller}: the featureFlags plugin is of another version of @halyard/flags. Install one version of it: \`npm ls @halyard/flags\` shows which packages bring them.`,
  );
}
