/** The Better Auth plugin: its tables, its endpoints, and the one service behind them per auth instance. */

import type { AuthContext } from "@better-auth/core";
import {
  type ChangeHooks,
  changeHooks,
  createIdentities,
  hasOrganizations,
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
import { assertPostgresPool, guardPool, isPostgresPool } from "../store/postgres/pool.ts";
import { PostgresTransactions } from "../store/postgres/transactions.ts";
import { createFlagStore } from "../store/store.ts";
import { readWriteTimeouts, watchWriteTimeouts } from "../store/write-timeouts.ts";
import { createTransactions } from "../store/writes/transaction.ts";
import { checkEventOptions, closeAnalytics, createAnalytics, withoutStatistics } from "./analytics.ts";
import { createAnnouncer } from "./bus.ts";
import { checkHost } from "./check-host.ts";
import { checkOptions } from "./check-options.ts";
import { consoleMarkOf } from "./console/mark.ts";
import { checkDeclaredFlags } from "./declared-flags.ts";
import { createExposureTokens, secretsOf } from "./evaluation/exposure-tokens.ts";
import { createEventStreams } from "./event-streams.ts";
import { openHostPath } from "./fast/host-path.ts";
import { withHelp } from "./help.ts";
import { limitRequest } from "./http/body-limit.ts";
import type { HostContext } from "./http/host-request.ts";
import { linkHooks } from "./identity-links.ts";
import { Previews } from "./impact/previews.ts";
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
import { type AuthWithPlugins, attachPort, type Bounds, findPort, type PluginSetup, portOf } from "./port.ts";
import { createProcesses, type Processes } from "./processes.ts";
import type { LiveState, Service } from "./service.ts";
import { checkTrustedOptions } from "./trusted/check-options.ts";
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

/** The services that this copy of the package created, by the setup of their plugin. */
const finders = new WeakMap<PluginSetup, ServiceFinder>();
/** The transactions of auth instances whose database is a pool of `pg`, by adapter. */
const poolTransactions = new WeakMap<object, PostgresTransactions>();

/**
 * Finds the services of the featureFlags plugin, for live flags, which work on a service directly. Where another copy of
 * the package made the plugin, this copy creates services of its own: they follow changes as another process does.
 */
export function serviceFinderOf(auth: AuthWithPlugins, caller: string): ServiceFinder {
  const { setup } = portOf(auth, caller);
  return finders.get(setup) ?? createServices(setup);
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
  checkOptions(options);
  checkEventOptions(options.events);
  checkSinks(options.events?.sinks ?? []);
  if (options.trusted !== undefined) checkTrustedOptions(options.trusted);
  if (options.postgres !== undefined) assertPostgresPool(options.postgres);
  /** What to stop, by the adapter of the auth instance. */
  const stops = new WeakMap<object, (() => Promise<void>)[]>();
  /** Adapters for which `closeFeatureFlags` was called, possibly before the first request. */
  const closed = new WeakSet<object>();
  const lives = new WeakMap<object, LiveState>();
  const setup: PluginSetup = {
    options,
    bounds,
    liveOf(adapter) {
      const existing = lives.get(adapter);
      if (existing !== undefined) return existing;
      const live: LiveState = { figures: { subscribers: 0, waiting: 0 }, online: options.online };
      lives.set(adapter, live);
      return live;
    },
    isClosed: (adapter) => closed.has(adapter),
    onClose: (adapter, stop) => void stops.set(adapter, [...(stops.get(adapter) ?? []), stop]),
  };
  const serviceOf = createServices(setup, (service) => {
    if (options.flags !== undefined) checkDeclaredFlags(service, options.flags);
  });

  const plugin: FeatureFlagsPlugin<Flags> = {
    id: "feature-flags",
    schema: mergeSchema(createTables(), options.schema),
    $ERROR_CODES: FEATURE_FLAG_ERROR_CODES,
    init: (context) => {
      checkHost(context, options);
      openOnPool(context);
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
  attachPort(plugin, {
    setup,
    wrapped: new WeakMap(),
    openHostPath: (context) => openHostPath(serviceOf({ context }), context, plugin),
    consoleMark: (context) => consoleMarkOf(serviceOf({ context })),
    verifyAudit: (context, tenant, head) => serviceOf({ context }).store.verifyAudit(tenant, head),
    deliver: (context) => serviceOf({ context }).sinks.deliver(),
    async close(adapter) {
      closed.add(adapter);
      for (const stop of stops.get(adapter) ?? []) await stop();
    },
  });
  return plugin;
}

/** One plugin object may serve several auth instances; each has its own adapter, and so its own service. */
function createServices(setup: PluginSetup, created?: (service: Service) => void): ServiceFinder {
  const byAdapter = new WeakMap<object, Service>();
  const createLimits = prepareLimits(setup.options.rateLimit, setup.bounds.maxWaitMs);
  const serviceOf: ServiceFinder = ({ context }) => {
    const { adapter } = context;
    const existing = byAdapter.get(adapter);
    if (existing !== undefined) return existing;
    const service = createService(context, setup, createLimits);
    byAdapter.set(adapter, service);
    setup.onClose(adapter, () => closeService(service));
    created?.(service);
    return service;
  };
  finders.set(setup, serviceOf);
  return serviceOf;
}

/**
 * Opens the transactions of the host on clients that are known here, so that a flag that is written inside one can limit
 * its waits. Before other code wraps the adapter.
 */
function openOnPool({ adapter, options, tables, logger }: AuthContext): void {
  const { database } = options;
  if (!isPostgresPool(database) || poolTransactions.has(adapter)) return;
  guardPool(database, warnBy(logger));
  const transactions = new PostgresTransactions({ options, tables }, database);
  poolTransactions.set(adapter, transactions);
  adapter.transaction = (work) => transactions.open(work);
}

const warnBy =
  (logger: HostContext["logger"]) =>
  (message: string, error: unknown): void =>
    logger.warn(withHelp(message), loggable(error));

function createService(
  context: HostContext,
  { options, bounds: { pollMs, maxQueued }, isClosed, liveOf }: PluginSetup,
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
  const warn = warnBy(logger);
  const { database } = context.options;
  const transactions = createTransactions(adapter, poolTransactions.get(adapter));
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
    tables: HostTables.on(context),
    timeouts: poolTransactions.has(adapter)
      ? async () => "set"
      : watchWriteTimeouts(() => readWriteTimeouts(database, postgres)),
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
    consoleMark: undefined,
    identities,
    hasOrganizations: hasOrganizations(context),
    streams: createEventStreams(store, identities),
    live: liveOf(adapter),
    previews: new Previews(),
    processes,
    trusted: options.trusted && createTrusted(options.trusted, { context, meter, warn }),
    isClosed: () => isClosed(adapter),
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
  await findPort(auth, "closeFeatureFlags")?.close(adapter);
}

async function closeService(service: Service): Promise<void> {
  service.streams.close();
  await closeAnalytics(service);
  await service.limits?.close();
  service.telemetry.close();
  service.identities.principals.close();
  service.trusted?.close();
  await service.store.close();
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
export async function deliverFeatureFlagEvents(auth: AuthWithFlags): Promise<number> {
  const { deliver } = portOf(auth, "deliverFeatureFlagEvents");
  // The type of an auth instance does not declare its context as plugins see it.
  return deliver((await auth.$context) as HostContext);
}
