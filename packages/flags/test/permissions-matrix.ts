/** The callers, tenants, inputs and expected results of the permission matrix. */

import type { FlagAction } from "@halyard/flags";
import type { AnyOperation } from "../src/server/operations/definition.ts";
import * as operations from "../src/server/operations/list.ts";
import type { Host, Person } from "./host.ts";
import { newKey } from "./new-key.ts";

export type RouteName = keyof typeof operations;
export const ROUTES: Readonly<Record<RouteName, Pick<AnyOperation, "method" | "path" | "action">>> = {
  ...operations,
};
export const ROUTE_NAMES: readonly RouteName[] = Object.keys(ROUTES) as RouteName[];
export const ALL_ACTIONS: readonly FlagAction[] = [
  "read",
  "create",
  "update",
  "delete",
  "override",
  "audit",
  "evaluate-as",
  "keys",
];

/** A tenant with one entity of each kind, all with a canary text. */
export interface Tenant {
  /** Empty for global entities. */
  readonly organizationId: string;
  /** Part of every text of the tenant. Callers without access must never receive it. */
  readonly canary: string;
  readonly flagId: string;
  readonly flagKey: string;
  readonly ruleId: string;
  readonly overrideId: string;
  readonly segmentId: string;
  /** A plan of a change of the flag. */
  readonly planId: string;
  /** The audit entry of the segment's creation. */
  readonly entryId: string;
  /** The change of this entry. */
  readonly changeId: string;
}

/** With `only`, a tenant that has just what this operation destroys. */
export async function fillTenant(
  { auth }: Host,
  organizationId: string | undefined,
  name: string,
  only?: RouteName,
): Promise<Tenant> {
  const canary = `canary-of-${name}.`;
  const owned = organizationId === undefined ? {} : { organizationId };
  const conditions = { conditions: [{ attribute: "plan", operator: "equals" as const, value: canary }] };
  const when = async <Made>(destroyer: RouteName, make: () => Promise<Made>): Promise<Made | undefined> =>
    only === undefined || only === destroyer ? make() : undefined;
  const flag = await auth.api.createFeatureFlag({
    body: { key: newKey(), name: canary, type: "string", enabled: true, defaultValue: canary, ...owned },
  });
  const rule = await when("deleteFeatureFlagRule", () =>
    auth.api.createFeatureFlagRule({
      body: { flagId: flag.id, priority: 1, name: canary, conditions, value: canary },
    }),
  );
  const override = await when("deleteFeatureFlagOverride", () =>
    auth.api.createFeatureFlagOverride({
      body: { flagId: flag.id, userId: newKey("user"), value: canary, reason: canary },
    }),
  );
  const plan = await when("applyFeatureFlagPlan", () =>
    auth.api.planFeatureFlags({
      body: { changes: [{ flagId: flag.id, fields: { description: "planned" } }] },
    }),
  );
  const newSegment = () =>
    auth.api.createFeatureFlagSegment({ body: { key: newKey(), name: canary, conditions, ...owned } });
  const segment = await when("deleteFeatureFlagSegment", newSegment);
  const newEntry = async () => {
    if (segment === undefined || only === undefined) await newSegment();
    return (await auth.api.listFeatureFlagAuditEntries({ query: { ...owned, limit: 1 } })).entries[0];
  };
  const entry = await when("revertFeatureFlagAuditEntry", newEntry);
  const change = await when("revertFeatureFlagChange", newEntry);
  return {
    organizationId: organizationId ?? "",
    canary,
    flagId: flag.id,
    flagKey: flag.key,
    ruleId: rule?.id ?? "",
    overrideId: override?.id ?? "",
    segmentId: segment?.id ?? "",
    planId: plan?.id ?? "",
    entryId: entry?.id ?? "",
    changeId: change?.changeId ?? "",
  };
}

/** How an operation selects a tenant: by an entity, by its id in query or body, or not at all. */
export type Target = "entity" | "list" | "make" | "service" | "public";

export interface Input {
  readonly params?: Record<string, string>;
  readonly query?: Record<string, string>;
  readonly body?: Record<string, unknown>;
}

interface Recipe {
  readonly target: Target;
  readonly input: (tenant: Tenant, organization: { organizationId?: string }) => Input;
}

const everyone = { conditions: [] };
const asParams = ({ flagId, ruleId }: Tenant) => ({ flagId, ruleId });

/** One entry per route. A missing route does not compile. */
export const RECIPES: Readonly<Record<RouteName, Recipe>> = {
  evaluateFeatureFlag: { target: "public", input: ({ flagKey }) => ({ body: { flagKey } }) },
  evaluateFeatureFlags: { target: "public", input: ({ flagKey }) => ({ body: { flagKeys: [flagKey] } }) },
  bootstrapFeatureFlags: { target: "public", input: () => ({ body: {} }) },
  createFeatureFlagEvent: { target: "public", input: ({ flagKey }) => ({ body: { flagKey, event: "e" } }) },
  createFeatureFlagEventBatch: {
    target: "public",
    input: ({ flagKey }) => ({ body: { events: [{ flagKey, event: "e" }] } }),
  },
  createFeatureFlagExposures: { target: "public", input: () => ({ body: { exposures: ["token"] } }) },
  evaluateOfrepFlagRoute: {
    target: "public",
    input: ({ flagKey }) => ({ params: { key: flagKey }, body: {} }),
  },
  evaluateOfrepFlagsRoute: { target: "public", input: () => ({ body: {} }) },
  openOfrepEventsRoute: { target: "public", input: () => ({}) },
  getFeatureFlagsHealth: { target: "public", input: () => ({}) },
  getFeatureFlagsReadiness: { target: "public", input: () => ({}) },
  getFeatureFlagsMetrics: { target: "service", input: () => ({}) },

  listFeatureFlags: { target: "list", input: (_tenant, organization) => ({ query: organization }) },
  createFeatureFlag: {
    target: "make",
    input: (_tenant, organization) => ({
      body: { key: newKey(), name: "N", type: "boolean", ...organization },
    }),
  },
  getFeatureFlag: { target: "entity", input: ({ flagId }) => ({ params: { id: flagId } }) },
  updateFeatureFlag: {
    target: "entity",
    input: ({ flagId }) => ({ params: { id: flagId }, body: { description: "d" } }),
  },
  deleteFeatureFlag: { target: "entity", input: ({ flagId }) => ({ params: { id: flagId } }) },
  explainFeatureFlag: { target: "entity", input: ({ flagId }) => ({ params: { id: flagId }, body: {} }) },

  getFeatureFlagStats: { target: "entity", input: ({ flagId }) => ({ params: { id: flagId } }) },
  getFeatureFlagUsage: { target: "list", input: (_tenant, organization) => ({ query: organization }) },

  listFeatureFlagRules: { target: "entity", input: ({ flagId }) => ({ params: { flagId } }) },
  createFeatureFlagRule: {
    target: "entity",
    input: ({ flagId }) => ({ params: { flagId }, body: { priority: 9, conditions: everyone, value: "v" } }),
  },
  updateFeatureFlagRule: {
    target: "entity",
    input: (tenant) => ({ params: asParams(tenant), body: { priority: 8 } }),
  },
  deleteFeatureFlagRule: { target: "entity", input: (tenant) => ({ params: asParams(tenant) }) },

  listFeatureFlagOverrides: { target: "list", input: (_tenant, organization) => ({ query: organization }) },
  createFeatureFlagOverride: {
    target: "entity",
    input: ({ flagId }) => ({ body: { flagId, userId: newKey("user"), value: "v" } }),
  },
  deleteFeatureFlagOverride: {
    target: "entity",
    input: ({ overrideId }) => ({ params: { id: overrideId } }),
  },

  listFeatureFlagSegments: { target: "list", input: (_tenant, organization) => ({ query: organization }) },
  createFeatureFlagSegment: {
    target: "make",
    input: (_tenant, organization) => ({ body: { key: newKey(), conditions: everyone, ...organization } }),
  },
  getFeatureFlagSegment: { target: "entity", input: ({ segmentId }) => ({ params: { id: segmentId } }) },
  updateFeatureFlagSegment: {
    target: "entity",
    input: ({ segmentId }) => ({ params: { id: segmentId }, body: { conditions: everyone } }),
  },
  deleteFeatureFlagSegment: { target: "entity", input: ({ segmentId }) => ({ params: { id: segmentId } }) },

  listFeatureFlagAuditEntries: {
    target: "list",
    input: (_tenant, organization) => ({ query: organization }),
  },
  revertFeatureFlagAuditEntry: {
    target: "entity",
    input: ({ entryId }) => ({ params: { id: entryId }, body: {} }),
  },
  revertFeatureFlagChange: {
    target: "entity",
    input: ({ changeId }) => ({ params: { changeId }, body: {} }),
  },

  planFeatureFlags: {
    target: "entity",
    input: ({ flagId }) => ({ body: { changes: [{ flagId, fields: { description: "d" } }] } }),
  },
  applyFeatureFlagPlan: { target: "entity", input: ({ planId }) => ({ params: { id: planId }, body: {} }) },

  runFeatureFlagsConsoleRoute: { target: "public", input: () => ({ params: { name: "session" }, body: {} }) },
};

/** A caller with the permissions it should have. */
export interface MatrixCaller {
  readonly name: string;
  /** Undefined for an anonymous visitor. */
  readonly as?: Person;
  /** Whether Better Auth has ended the session. */
  readonly isSignedOut?: boolean;
  /** Whether the API key has ended, because its owner was banned or removed. */
  readonly hasEnded?: boolean;
  /** The actions granted by the role in the application. */
  readonly everywhere: readonly FlagAction[];
  /** The actions granted in each organization. The caller does not belong to organizations that are not listed. */
  readonly within: Readonly<Record<string, readonly FlagAction[]>>;
  /** The organization of requests that name none. */
  readonly home?: string;
}

export interface Outcome {
  readonly status: number;
  readonly text: string;
}

/** Calls the operation by its URL, in process. */
export async function callByUrl(
  host: Host,
  name: RouteName,
  input: Input,
  caller: MatrixCaller,
  vary: (path: string) => string = (path) => path,
): Promise<Outcome> {
  const route = ROUTES[name];
  const path = route.path.replace(/:(\w+)/g, (_match, param: string) => input.params?.[param] ?? "");
  const url = `${host.origin}/api/auth${vary(path)}?${new URLSearchParams(input.query)}`;
  const body = route.method === "DELETE" || input.body === undefined ? undefined : JSON.stringify(input.body);
  const request = new Request(url, {
    method: route.method,
    headers: {
      origin: host.origin,
      ...(body !== undefined && {
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(body)),
      }),
      ...caller.as?.headers,
    },
    ...(body !== undefined && { body }),
  });
  const response = await host.auth.handler(request);
  return { status: response.status, text: await textOf(response) };
}

/** Calls the operation as a server method with the caller's headers. */
export async function callByMethod(
  host: Host,
  name: RouteName,
  input: Input,
  caller: MatrixCaller,
): Promise<Outcome> {
  const methods = host.auth.api as unknown as Record<string, (input: object) => Promise<Response>>;
  const method = methods[name];
  if (method === undefined) throw new Error(`auth.api has no method "${name}".`);
  const response = await method({ ...input, headers: new Headers(caller.as?.headers), asResponse: true });
  return { status: response.status, text: await textOf(response) };
}

/** A stream of events has no end. */
async function textOf(response: Response): Promise<string> {
  if (response.headers.get("content-type") !== "text/event-stream") return response.text();
  await response.body?.cancel();
  return "";
}

export const OK = 200;
/** Operations that answer every caller. */
const WITHOUT_CALLER: ReadonlySet<RouteName> = new Set([
  "getFeatureFlagsHealth",
  "getFeatureFlagsReadiness",
  "runFeatureFlagsConsoleRoute",
]);

/** Lets the owners of API keys lose what the names of their roles say. */
export async function endOwners(
  { auth }: Host,
  root: Person,
  { banned, removed }: { readonly banned: readonly Person[]; readonly removed: readonly Person[] },
): Promise<void> {
  const headers = new Headers(root.headers);
  for (const { id } of banned) await auth.api.banUser({ body: { userId: id }, headers });
  for (const { id } of removed) await auth.api.removeUser({ body: { userId: id }, headers });
}

/** Gives a user another role in the application. */
export async function demote({ auth }: Host, root: Person, userId: string, role: string): Promise<void> {
  // The types permit only the built-in roles.
  await auth.api.setRole({ body: { userId, role: role as "user" }, headers: new Headers(root.headers) });
}

/** The expected status; `OK` stands for every success. */
export function expectedStatus(
  name: RouteName,
  caller: MatrixCaller,
  tenant: Tenant,
  options: { multiTenant: boolean; named: boolean },
): number {
  const { action } = ROUTES[name];
  const { target } = RECIPES[name];
  // A caller who means to be identified is never taken for an anonymous visitor.
  if (caller.hasEnded === true && !WITHOUT_CALLER.has(name)) return 401;
  if (name === "evaluateOfrepFlagRoute") {
    // OFREP requires 404 for a flag that the caller may not see.
    const isSeen = [undefined, "", caller.home].includes(
      options.multiTenant ? tenant.organizationId : undefined,
    );
    return isSeen ? OK : 404;
  }
  const isAnonymous = caller.as === undefined || caller.isSignedOut === true;
  if (name === "createFeatureFlagEvent" && isAnonymous) {
    // No organization's flag exists for a caller who is not signed in.
    return options.multiTenant && tenant.organizationId !== "" ? 404 : OK;
  }
  // Only the handler of the console reaches it.
  if (name === "runFeatureFlagsConsoleRoute") return 404;
  if (action === "public") return OK;
  if (isAnonymous) return 401;
  const within = caller.within[tenant.organizationId];
  // A revert needs what the inverse change needs, too.
  const isRevert = name === "revertFeatureFlagAuditEntry" || name === "revertFeatureFlagChange";
  const needed = isRevert ? [action, "update" as const] : [action];
  const isGranted = (by: readonly FlagAction[] | undefined) =>
    by !== undefined && needed.every((one) => by.includes(one));
  if (!options.multiTenant || target === "service") return isGranted(caller.everywhere) ? OK : 403;
  const granted = isGranted(caller.everywhere) || isGranted(within);
  if (target === "entity") {
    if (granted) return OK;
    return within !== undefined || caller.everywhere.length > 0 ? 403 : 404;
  }
  if (options.named) return granted ? OK : 403;
  const atHome = caller.home === undefined ? undefined : caller.within[caller.home];
  if (target === "make") return isGranted(caller.everywhere) || isGranted(atHome) ? 400 : 403;
  if (isGranted(caller.everywhere)) return OK;
  if (caller.home === undefined) return caller.everywhere.length > 0 ? 403 : 400;
  return isGranted(atHome) ? OK : 403;
}

/** Whether this route may send the caller data of the tenant. */
export function maySee(name: RouteName, caller: MatrixCaller, tenant: Tenant, multiTenant: boolean): boolean {
  const { action } = ROUTES[name];
  if (!multiTenant || tenant.organizationId === "") return true;
  if (caller.within[tenant.organizationId] !== undefined && action === "public") return true;
  if (action === "public") return false;
  return (
    caller.everywhere.includes(action) || caller.within[tenant.organizationId]?.includes(action) === true
  );
}
