/** The Better Auth plugin: its tables, its endpoints, and the one store behind them per auth instance. */
import type { AuthContext } from "@better-auth/core";
import { type AuthEndpoint, createAuthEndpoint } from "@better-auth/core/api";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { mergeSchema } from "better-auth/db";
import { FEATURE_FLAG_ERROR_CODES, type FeatureFlagErrorCodes } from "../model/errors.ts";
import { createTables, type FeatureFlagTables } from "../model/tables.ts";
import { checkSinks } from "../store/events/sink.ts";
import { HostTables } from "../store/host-tables.ts";
import { createPostgresBus } from "../store/postgres-bus.ts";
import { assertPostgresPool, guardPool } from "../store/postgres-pool.ts";
import { createFlagStore } from "../store/store.ts";
import { createTransactions } from "../store/transaction.ts";
import { listAudit } from "./admin-audit.ts";
import {
  createFlag,
  deleteFlag,
  deleteFlagByBody,
  getFlag,
  listFlags,
  patchFlag,
  updateFlagByBody,
} from "./admin-flags.ts";
import { createOverride, deleteOverride, listOverrides } from "./admin-overrides.ts";
import { createRule, createRuleByBody, deleteRule, listRules, updateRule } from "./admin-rules.ts";
import { createSegment, deleteSegment, getSegment, listSegments, updateSegment } from "./admin-segments.ts";
import { checkEventOptions, closeAnalytics, createAnalytics } from "./analytics.ts";
import { limitRequest } from "./body-limit.ts";
import type { Call } from "./call.ts";
import { checkDeclaredFlags } from "./declared-flags.ts";
import type {
  DeleteOptions,
  FeatureFlagsEndpoints,
  MethodOptions,
  PathOf,
  ReadOptions,
  Routed,
  Scope,
  WriteOptions,
} from "./endpoints.ts";
import { bootstrapFlags, evaluateFlag, evaluateFlags } from "./evaluate.ts";
import { createEvent, createEventBatch } from "./events.ts";
import { explainFlag } from "./explain.ts";
import { type ForgetHooks, forgetHooks } from "./fast/forget-hooks.ts";
import { principalsOf } from "./fast/host-principals.ts";
import { getHealth } from "./health.ts";
import { admitted } from "./limits/admit.ts";
import { prepareLimits } from "./limits/create-limits.ts";
import { initLimits, type LimitsInit } from "./limits/host.ts";
import { loggable } from "./loggable.ts";
import { measure } from "./measure.ts";
import { createMeter } from "./meter.ts";
import { getMetrics, observeService } from "./metrics.ts";
import { startTelemetry } from "./metrics-telemetry.ts";
import { evaluateOfrepFlag, evaluateOfrepFlags } from "./ofrep.ts";
import { documentationOf } from "./openapi.ts";
import type { FeatureFlagsOptions } from "./options.ts";
import { getReadiness } from "./readiness.ts";
import { ROUTES } from "./routes.ts";
import type { Service } from "./service.ts";
import { getStats } from "./stats.ts";
import { getUsage } from "./usage.ts";

export type FeatureFlagsPlugin = {
  id: "feature-flags";
  endpoints: FeatureFlagsEndpoints;
  schema: FeatureFlagTables;
  init: (context: AuthContext) => LimitsInit & { options: { databaseHooks: ForgetHooks } };
  onRequest: (request: Request) => Promise<{ response: Response } | { request: Request } | undefined>;
  $ERROR_CODES: FeatureFlagErrorCodes;
};

type Operation<Output> = (service: Service, call: Call) => Promise<Output>;

/** The services of a plugin by the adapters they work on, for `closeFeatureFlags` to find. */
const services = new WeakMap<object, WeakMap<object, Service>>();
/** The adapters that `closeFeatureFlags` has been called for, were it before the first request. */
const closed = new WeakSet<object>();
/** What makes, or finds, the service of an auth instance, by the plugin. */
const finders = new WeakMap<object, ServiceFinder>();

type ServiceFinder = (call: Pick<Call, "context">) => Service;

/** Gives the services of a plugin of ours; undefined for any other. */
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
export function featureFlags(options: FeatureFlagsOptions = {}): FeatureFlagsPlugin {
  // One plugin object may serve several auth instances: each has an adapter, and with it a store, of its own.
  const own = new WeakMap<object, Service>();
  checkEventOptions(options.events);
  checkSinks(options.events?.sinks ?? []);
  const { postgres } = options;
  if (postgres !== undefined) assertPostgresPool(postgres);
  const limitsFor = prepareLimits(options.rateLimit);

  function serviceOf({ context }: Pick<Call, "context">): Service {
    const { adapter, logger } = context;
    const known = own.get(adapter);
    if (known !== undefined) return known;
    const said = new Set<string>();
    const meter = createMeter({ warn: (message) => logger.warn(`[feature-flags] ${message}`) });
    const warnOnce = (message: string) => {
      if (said.has(message)) return;
      said.add(message);
      logger.warn(`[feature-flags] ${message}`);
    };
    const warn = (message: string, error: unknown) =>
      logger.warn(`[feature-flags] ${message}`, loggable(error));
    const transactions = createTransactions(adapter);
    if (postgres !== undefined) guardPool(postgres, warn);
    const service: Service = {
      options,
      meter,
      limits: limitsFor({ context, meter, warn, warnOnce }),
      store: createFlagStore(adapter, {
        pollMs: options.pollMs,
        transactions,
        tables: HostTables.on(context, postgres),
        connectBus:
          postgres &&
          ((listener) =>
            createPostgresBus({ pool: postgres, listener, listens: options.pollMs !== 0, warn })),
        warn,
      }),
      ...createAnalytics(adapter, options, { transactions, meter, warn }),
      telemetry: startTelemetry(meter, warn),
      fastPath: { state: "off", reason: "withFeatureFlags is not used." },
      principals: principalsOf({ context }, postgres),
      isClosed: () => closed.has(adapter),
      warnOnce,
    };
    observeService(service);
    own.set(adapter, service);
    if (options.flags !== undefined) checkDeclaredFlags(service, options.flags);
    return service;
  }

  function get<Name extends Routed, Query, Output, S extends Scope>(
    name: Name,
    scope: S,
    operation: Operation<Output>,
  ): AuthEndpoint<PathOf<Name>, ReadOptions<Query, S>, Output> {
    const endpointOptions: ReadOptions<Query, S> = {
      method: "GET",
      query: anything<Query | undefined>(),
      metadata: metadataOf(name, scope),
    };
    return createAuthEndpoint(pathOf(name), endpointOptions, (call) =>
      measure(name, serviceOf(call), call, admitted(name, operation)),
    );
  }

  function write<Name extends Routed, M extends "POST" | "PATCH", Input, Output, S extends Scope>(
    name: Name,
    method: M,
    scope: S,
    operation: Operation<Output>,
  ): AuthEndpoint<PathOf<Name>, WriteOptions<M, Input, S>, Output> {
    const endpointOptions: WriteOptions<M, Input, S> = {
      method,
      body: anything<Input>(),
      metadata: metadataOf(name, scope),
    };
    return createAuthEndpoint(pathOf(name), endpointOptions, (call) =>
      measure(name, serviceOf(call), call, admitted(name, operation)),
    );
  }

  function remove<Name extends Routed, S extends Scope>(
    name: Name,
    scope: S,
    operation: Operation<void>,
  ): AuthEndpoint<PathOf<Name>, DeleteOptions<S>, void> {
    const endpointOptions: DeleteOptions<S> = {
      method: "DELETE",
      disableBody: true,
      metadata: metadataOf(name, scope),
    };
    return createAuthEndpoint(pathOf(name), endpointOptions, (call) =>
      measure(name, serviceOf(call), call, admitted(name, operation)),
    );
  }

  function method<Input, Output>(
    name: Exclude<keyof typeof ROUTES, Routed>,
    operation: Operation<Output>,
  ): AuthEndpoint<string, MethodOptions<Input>, Output> {
    const endpointOptions: MethodOptions<Input> = {
      method: "POST",
      body: anything<Input>(),
      metadata: metadataOf(name, "server"),
    };
    return createAuthEndpoint.serverOnly(endpointOptions, (call) => operation(serviceOf(call), call));
  }

  const plugin: FeatureFlagsPlugin = {
    id: "feature-flags",
    schema: mergeSchema(createTables(), options.schema),
    $ERROR_CODES: FEATURE_FLAG_ERROR_CODES,
    init: (context) => ({
      ...initLimits(options.rateLimit, context, options.postgres !== undefined),
      options: { databaseHooks: forgetHooks(context) },
    }),
    onRequest: (request) => limitRequest(request),
    endpoints: {
      // Better Auth's type has one result per endpoint; ours depends on `select`.
      evaluateFeatureFlag: write(
        "evaluateFeatureFlag",
        "POST",
        "server",
        evaluateFlag,
      ) as FeatureFlagsEndpoints["evaluateFeatureFlag"],
      evaluateFeatureFlags: write(
        "evaluateFeatureFlags",
        "POST",
        "server",
        evaluateFlags,
      ) as FeatureFlagsEndpoints["evaluateFeatureFlags"],
      bootstrapFeatureFlags: write(
        "bootstrapFeatureFlags",
        "POST",
        "server",
        bootstrapFlags,
      ) as FeatureFlagsEndpoints["bootstrapFeatureFlags"],
      createFeatureFlagEvent: write("createFeatureFlagEvent", "POST", "server", createEvent),
      createFeatureFlagEventBatch: write("createFeatureFlagEventBatch", "POST", "server", createEventBatch),
      getFeatureFlagsHealth: get("getFeatureFlagsHealth", "server", getHealth),
      getFeatureFlagsReadiness: get("getFeatureFlagsReadiness", "server", getReadiness),
      getFeatureFlagsMetrics: get("getFeatureFlagsMetrics", "server", getMetrics),

      listFeatureFlags: get("listFeatureFlags", "server", listFlags),
      createFeatureFlag: write("createFeatureFlag", "POST", "server", createFlag),
      getFeatureFlagRoute: get("getFeatureFlagRoute", "http", getFlag),
      updateFeatureFlag: method("updateFeatureFlag", updateFlagByBody),
      updateFeatureFlagRoute: write("updateFeatureFlagRoute", "PATCH", "http", patchFlag),
      deleteFeatureFlag: method("deleteFeatureFlag", deleteFlagByBody),
      deleteFeatureFlagRoute: remove("deleteFeatureFlagRoute", "http", deleteFlag),
      explainFeatureFlag: write("explainFeatureFlag", "POST", "server", explainFlag),

      getFeatureFlagStats: get("getFeatureFlagStats", "server", getStats),
      getFeatureFlagUsage: get("getFeatureFlagUsage", "server", getUsage),

      listFeatureFlagRules: get("listFeatureFlagRules", "server", listRules),
      createFeatureFlagRule: method("createFeatureFlagRule", createRuleByBody),
      createFeatureFlagRuleRoute: write("createFeatureFlagRuleRoute", "POST", "http", createRule),
      updateFeatureFlagRuleRoute: write("updateFeatureFlagRuleRoute", "PATCH", "http", updateRule),
      deleteFeatureFlagRuleRoute: remove("deleteFeatureFlagRuleRoute", "http", deleteRule),

      listFeatureFlagOverrides: get("listFeatureFlagOverrides", "server", listOverrides),
      createFeatureFlagOverride: write("createFeatureFlagOverride", "POST", "server", createOverride),
      deleteFeatureFlagOverrideRoute: remove("deleteFeatureFlagOverrideRoute", "http", deleteOverride),

      listFeatureFlagSegments: get("listFeatureFlagSegments", "server", listSegments),
      createFeatureFlagSegment: write("createFeatureFlagSegment", "POST", "server", createSegment),
      getFeatureFlagSegment: get("getFeatureFlagSegment", "server", getSegment),
      updateFeatureFlagSegment: write("updateFeatureFlagSegment", "PATCH", "server", updateSegment),
      deleteFeatureFlagSegment: remove("deleteFeatureFlagSegment", "server", deleteSegment),

      listFeatureFlagAuditEntries: get("listFeatureFlagAuditEntries", "server", listAudit),

      evaluateOfrepFlagRoute: write("evaluateOfrepFlagRoute", "POST", "http", evaluateOfrepFlag),
      evaluateOfrepFlagsRoute: write("evaluateOfrepFlagsRoute", "POST", "http", evaluateOfrepFlags),
    },
  };
  services.set(plugin, own);
  finders.set(plugin, serviceOf);
  return plugin;
}

/** The part of an auth instance that is needed to stop its flags. */
export type AuthWithFlags = {
  readonly options: { readonly plugins?: readonly object[] | undefined };
  readonly $context: Promise<{ readonly adapter: object }>;
};

/**
 * Stops all background work of the flags of an auth instance. None of it keeps a process alive; this is for tests, and
 * for a shutdown that closes the database.
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
    await closeAnalytics(service);
    await service.limits.close();
    service.telemetry.close();
    service.principals.close();
    await service.store.close();
  }
}

/**
 * Delivers the events that wait for sinks, now, and resolves to how many have arrived. Where processes live on between
 * requests this happens by itself every second; elsewhere, call it from a scheduled job.
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
  // Whatever is asked first brings the service to life.
  await auth.api.getFeatureFlagsReadiness();
  const { adapter } = await auth.$context;
  let count = 0;
  for (const plugin of auth.options.plugins ?? []) {
    count += (await services.get(plugin)?.get(adapter)?.sinks.deliver()) ?? 0;
  }
  return count;
}

function pathOf<Name extends Routed>(name: Name): PathOf<Name> {
  return ROUTES[name].path;
}

function metadataOf<S extends Scope>(name: keyof typeof ROUTES, scope: S): { scope: S } {
  // What is answered is for one caller at one time: no cache in between may keep it.
  const metadata = { scope, noStore: true, openapi: documentationOf(name) };
  return metadata;
}

/** Gives an input its type and leaves its validation to the operation, which first asks who is calling. */
function anything<Input>(): StandardSchemaV1<Input> {
  return { "~standard": { version: 1, vendor: "halyard", validate: (value) => ({ value: value as Input }) } };
}
