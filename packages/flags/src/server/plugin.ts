/** The Better Auth plugin: its tables, its endpoints, and the one service behind them per auth instance. */

import type { AuthContext } from "@better-auth/core";
import {
  type ChangeHooks,
  changeHooks,
  createIdentities,
  watchIdentityWrites,
} from "@halyard/sessions/plugin";
import { mergeSchema } from "better-auth/db";
import type { FlagDeclarations } from "../model/declared.ts";
import { FEATURE_FLAG_ERROR_CODES, type FeatureFlagErrorCodes } from "../model/errors.ts";
import { NO_TENANT } from "../model/flag.ts";
import { createTables, type FeatureFlagTables } from "../model/tables.ts";
import type { ConnectBus } from "../store/announcer.ts";
import { checkSinks } from "../store/events/sinks/sink.ts";
import { createPostgresBus } from "../store/postgres/bus.ts";
import { HostTables } from "../store/postgres/host-tables.ts";
import { assertPostgresPool, guardPool } from "../store/postgres/pool.ts";
import { createFlagStore } from "../store/store.ts";
import { createTransactions } from "../store/writes/transaction.ts";
import { checkEventOptions, closeAnalytics, createAnalytics, withoutStatistics } from "./analytics.ts";
import { createAnnouncer } from "./bus.ts";
import { checkOptions } from "./check-options.ts";
import { checkDeclaredFlags } from "./declared-flags.ts";
import { createExposureTokens, secretsOf } from "./evaluation/exposure-tokens.ts";
import { createEventStreams } from "./event-streams.ts";
import { withHelp } from "./help.ts";
import { limitRequest } from "./http/body-limit.ts";
import type { HostContext } from "./http/host-request.ts";
import { linkHooks } from "./identity-links.ts";
import { initLimits, type LimitsFactory, type LimitsInit, prepareLimits } from "./limits/create-limits.ts";
import { createLookups } from "./limits/lookups.ts";
import { observeService } from "./metrics/gauges.ts";
import { loggable } from "./metrics/loggable.ts";
import { createMeter } from "./metrics/meter.ts";
import { startTelemetry } from "./metrics/telemetry.ts";
import {
  bodyLimitOf,
  createEndpoints,
  type FeatureFlagsEndpoints,
  type ServiceFinder,
} from "./operations/endpoints.ts";
import type { FeatureFlagsOptions } from "./options.ts";
import { createProcesses, type Processes } from "./processes.ts";
import type { Service } from "./service.ts";
import { checkTrustedFields, checkTrustedOptions } from "./trusted/check-options.ts";
import { createTrusted } from "./trusted/create-trusted.ts";
import { VERSION } from "./version.ts";

/** The plugin that `featureFlags` returns. Better Auth calls its members. */
export type FeatureFlagsPlugin<Flags extends FlagDeclarations = FlagDeclarations> = {
  /** The id of the plugin in Better Auth. */
  id: "feature-flags";
  /** The routes and the methods of `auth.api`. */
  endpoints: FeatureFlagsEndpoints<Flags>;
  /** The tables. */
  schema: FeatureFlagTables;
  /** Prepares an auth instance. */
  init: (context: AuthContext) => LimitsInit & { options: { databaseHooks: ChangeHooks } };
  /** Refuses bodies that are too large. */
  onRequest: (request: Request) => Promise<{ response: Response } | { request: Request } | undefined>;
  /** The error codes, for `auth.$ERROR_CODES`. */
  $ERROR_CODES: FeatureFlagErrorCodes;
};

/** What is no option, and tests set. */
export interface Bounds {
  /** Interval of the check for changes by other processes. Default 500 ms. */
  readonly pollMs?: number | undefined;
  /** Events that may wait to be written. Default 10,000. */
  readonly maxQueued?: number | undefined;
  /** How long a request waits for the shared store of the rate limits. Default 2 s. */
  readonly maxWaitMs?: number | undefined;
}

/** The services of each plugin object, by the adapter of the auth instance. */
const services = new WeakMap<object, WeakMap<object, Service>>();
/** Adapters for which `closeFeatureFlags` was called, possibly before the first request. */
const closed = new WeakSet<object>();
/** Creates or finds the service of an auth instance, by plugin object. */
const finders = new WeakMap<object, ServiceFinder>();

/** Finds the services of a `featureFlags` plugin; undefined for any other plugin. */
export function findService(plugin: object): ServiceFinder | undefined {
  return finders.get(plugin);
}

/**
 * Feature flags in the database of a Better Auth server.
 *
 * ```ts
 * import { featureFlags } from "@halyard/flags";
 * import { betterAuth } from "better-auth";
 * import { admin } from "better-auth/plugins";
 * import { Pool } from "pg";
 *
 * const auth = betterAuth({ database: new Pool(), plugins: [admin(), featureFlags()] });
 * const { value } = await auth.api.evaluateFeatureFlag({ body: { flagKey: "new-checkout", default: false } });
 * ```
 */
export function featureFlags<const Flags extends FlagDeclarations = FlagDeclarations>(
  options: FeatureFlagsOptions<Flags> = {},
): FeatureFlagsPlugin<Flags> {
  return createPlugin(options);
}

export function createPlugin<Flags extends FlagDeclarations>(
  options: FeatureFlagsOptions<Flags>,
  bounds: Bounds = {},
): FeatureFlagsPlugin<Flags> {
  // One plugin object may serve several auth instances; each has its own adapter, and so its own service.
  const byAdapter = new WeakMap<object, Service>();
  checkOptions(options);
  checkEventOptions(options.events);
  checkSinks(options.events?.sinks ?? []);
  if (options.trusted !== undefined) checkTrustedOptions(options.trusted);
  if (options.postgres !== undefined) assertPostgresPool(options.postgres);
  const createLimits = prepareLimits(options.rateLimit, bounds.maxWaitMs);

  const serviceOf: ServiceFinder = ({ context }) => {
    const existing = byAdapter.get(context.adapter);
    if (existing !== undefined) return existing;
    const service = createService(context, options, bounds, createLimits);
    byAdapter.set(context.adapter, service);
    if (options.flags !== undefined) checkDeclaredFlags(service, options.flags);
    return service;
  };

  const plugin: FeatureFlagsPlugin<Flags> = {
    id: "feature-flags",
    schema: mergeSchema(createTables(), options.schema),
    $ERROR_CODES: FEATURE_FLAG_ERROR_CODES,
    init: (context) => {
      if (options.trusted !== undefined) checkTrustedFields(context, options.trusted);
      watchIdentityWrites(context);
      return {
        ...initLimits(options.rateLimit, context, options.postgres !== undefined),
        options: {
          databaseHooks: { session: { ...changeHooks(context).session, ...linkHooks(serviceOf).session } },
        },
      };
    },
    onRequest: (request) => limitRequest(request, bodyLimitOf),
    endpoints: createEndpoints<Flags>(serviceOf),
  };
  services.set(plugin, byAdapter);
  finders.set(plugin, serviceOf);
  return plugin;
}

function createService(
  context: HostContext,
  options: FeatureFlagsOptions,
  { pollMs, maxQueued }: Bounds,
  createLimits: LimitsFactory,
): Service {
  const { adapter, logger } = context;
  const { postgres } = options;
  const logged = new Set<string>();
  const meter = createMeter({ warn: (message) => logger.warn(withHelp(message)) });
  const warnOnce = (message: string) => {
    if (logged.has(message)) return;
    logged.add(message);
    logger.warn(withHelp(message));
  };
  const warn = (message: string, error: unknown) => logger.warn(withHelp(message), loggable(error));
  const transactions = createTransactions(adapter);
  if (postgres !== undefined) guardPool(postgres, warn);
  const analytics = createAnalytics(adapter, options, {
    host: context,
    transactions,
    meter,
    warn,
    maxQueued,
  });
  const startedAt = new Date().toISOString();
  const processes = createProcesses(async () => {
    const { revision, snapshotAgeMs, stale } = await store.health(NO_TENANT);
    return { startedAt, version: VERSION, revision, snapshotAgeMs, stale, fastPath: service.fastPath.state };
  });
  const store = createFlagStore(adapter, {
    pollMs: options.poll === false ? 0 : pollMs,
    transactions,
    tables: HostTables.on(context, postgres),
    onAuditHead: options.onAuditHead,
    connectBus: busOf(options, processes, warn),
    warn,
  });
  const limits = createLimits({ context, meter, warn, warnOnce });
  const identities = createIdentities(context, { keyResource: "featureFlag" });
  const service: Service = {
    options,
    meter,
    limits,
    lookups: limits && createLookups(limits, meter),
    store: withoutStatistics(store, analytics, warn),
    ...analytics,
    tokens: createExposureTokens(secretsOf(context)),
    telemetry: startTelemetry(meter, warn),
    fastPath: { state: "off", reason: "withFeatureFlags is not used." },
    identities,
    streams: createEventStreams(store, identities),
    live: { subscribers: 0, waiting: 0 },
    processes,
    trusted: options.trusted && createTrusted(options.trusted, { context, meter, warn }),
    online: options.online,
    isClosed: () => closed.has(adapter),
    warnOnce,
  };
  observeService(service);
  return service;
}

function busOf(
  { postgres, bus = postgres && createPostgresBus(postgres), poll }: FeatureFlagsOptions,
  processes: Processes,
  warn: (message: string, error: unknown) => void,
): ConnectBus | undefined {
  const common = { listens: poll !== false, received: processes.received, warn };
  return bus && ((listener) => processes.connect(createAnnouncer({ ...common, bus, listener })));
}

/** The part of an auth instance that is needed to stop its flags. */
export type AuthWithFlags = {
  /** The options of the instance, with its plugins. */
  readonly options: { readonly plugins?: readonly object[] | undefined };
  /** The context that Better Auth gives to plugins. */
  readonly $context: Promise<{ readonly adapter: object }>;
};

/**
 * Stops all background work of an auth instance's flags. Background work does not keep a process alive; call this in
 * tests, and before a shutdown closes the database.
 *
 * ```ts
 * import { closeFeatureFlags, featureFlags } from "@halyard/flags";
 * import { betterAuth } from "better-auth";
 *
 * const auth = betterAuth({ plugins: [featureFlags()] });
 * await closeFeatureFlags(auth);
 * ```
 */
export async function closeFeatureFlags(auth: AuthWithFlags): Promise<void> {
  const { adapter } = await auth.$context;
  closed.add(adapter);
  for (const plugin of auth.options.plugins ?? []) {
    const service = services.get(plugin)?.get(adapter);
    if (service === undefined) continue;
    service.streams.close();
    await closeAnalytics(service);
    await service.limits?.close();
    service.telemetry.close();
    service.identities.principals.close();
    service.trusted?.close();
    await service.store.close();
  }
}

/**
 * Delivers the events that wait for sinks now, and resolves to the number delivered. A long-running process does this
 * every second by itself; on platforms without one, call it from a scheduled job.
 *
 * ```ts
 * import { deliverFeatureFlagEvents, featureFlags } from "@halyard/flags";
 * import { betterAuth } from "better-auth";
 *
 * const auth = betterAuth({ plugins: [featureFlags()] });
 * export default { scheduled: () => deliverFeatureFlagEvents(auth) };
 * ```
 */
export async function deliverFeatureFlagEvents(
  auth: AuthWithFlags & { readonly api: { getFeatureFlagsReadiness(): Promise<unknown> } },
): Promise<number> {
  // The first request creates the service.
  await auth.api.getFeatureFlagsReadiness();
  const { adapter } = await auth.$context;
  let count = 0;
  for (const plugin of auth.options.plugins ?? []) {
    count += (await services.get(plugin)?.get(adapter)?.sinks.deliver()) ?? 0;
  }
  return count;
}
