/** What the OpenAPI document says of each operation: Better Auth's own plugin reads it from the endpoints. */
import type { ROUTES } from "./routes.ts";

type Schema = {
  type?: "string" | "number" | "boolean" | "array" | "object" | "null";
  [key: string]: unknown;
};
type Properties = Record<string, Schema>;
type ObjectSchema = { type: "object"; properties: Properties; required?: string[] };

interface Documentation {
  readonly summary: string;
  readonly body?: ObjectSchema;
  /** The query of a list. */
  readonly query?: readonly string[];
  /** The status of success, 200 when absent. */
  readonly status?: 201 | 204;
  readonly result?: ObjectSchema;
}

const string: Schema = { type: "string" };
const number: Schema = { type: "number" };
const integer: Schema = { type: "number", multipleOf: 1 };
const boolean: Schema = { type: "boolean" };
const object: Schema = { type: "object" };
const time: Schema = { type: "string", format: "date-time" };
const any: Schema = { description: "Any JSON value" };
const list = (items: Schema): Schema => ({ type: "array", items });
const oneOf = (...values: string[]): Schema => ({ type: "string", enum: values });
const of = (properties: Properties, required?: string[]): ObjectSchema => ({
  type: "object",
  properties,
  ...(required && { required }),
});

const variant = of({ key: string, weight: number, value: any, metadata: object }, ["key", "weight", "value"]);
const flagFields: Properties = {
  key: string,
  name: string,
  description: string,
  type: oneOf("boolean", "string", "number", "json"),
  enabled: boolean,
  defaultValue: any,
  rolloutPercentage: { ...integer, minimum: 0, maximum: 100 },
  variants: list(variant),
  environments: object,
  salt: string,
  bucketBy: string,
  visibility: oneOf("public", "server"),
  metadata: object,
};
const owned: Properties = { organizationId: string };
const flag = of({ id: string, ...flagFields, ...owned, version: integer, createdAt: time, updatedAt: time });
const ruleFields: Properties = {
  priority: number,
  name: string,
  conditions: object,
  value: any,
  variant: string,
  percentage: { ...number, minimum: 0, maximum: 100 },
  enabled: boolean,
};
const rule = of({ id: string, flagId: string, ...ruleFields, version: integer, createdAt: time });
const overrideFields: Properties = {
  flagId: string,
  userId: string,
  value: any,
  enabled: boolean,
  variant: string,
  reason: string,
  expiresAt: time,
};
const override = of({ id: string, ...overrideFields, createdAt: time });
const segmentFields: Properties = { name: string, conditions: object };
const segment = of({
  id: string,
  key: string,
  ...segmentFields,
  ...owned,
  version: integer,
  createdAt: time,
  updatedAt: time,
});
const page = of({ nextCursor: string, limit: integer, hasMore: boolean });
const auditEntry = of({
  id: string,
  revision: integer,
  at: time,
  action: string,
  actor: of({ type: oneOf("user", "key", "system"), id: string }),
  ...owned,
  flagId: string,
  flagKey: string,
  entityId: string,
  before: any,
  after: any,
  ip: string,
  userAgent: string,
  requestId: string,
  prevHash: string,
  hash: string,
});

const context = of({
  userId: string,
  email: string,
  role: string,
  organizationId: string,
  anonymousId: string,
  attributes: object,
  device: object,
  geo: object,
});
const evaluationBody: Properties = {
  context,
  select: { description: '"value", "full", or a list of "value", "variant", "reason", "metadata"' },
  environment: string,
  track: boolean,
  debug: boolean,
};
const evaluationFields: Properties = {
  value: any,
  variant: string,
  reason: oneOf("rule_match", "override", "percentage_rollout", "default", "disabled", "not_found"),
  metadata: object,
};
const ofrepFields: Properties = {
  value: any,
  variant: string,
  reason: oneOf("TARGETING_MATCH", "SPLIT", "DEFAULT", "DISABLED"),
  metadata: object,
};
const evaluations: Properties = { flags: object, evaluatedAt: time, context };
const eventFields: Properties = {
  flagKey: string,
  event: string,
  value: number,
  properties: { description: "A number or an object" },
  timestamp: time,
  sampleRate: { ...number, minimum: 0, maximum: 1 },
  context,
};
const window = of({ start: time, end: time });
const series = list(of({ at: time, evaluations: integer }));
const pageQuery = ["organizationId", "cursor", "limit", "sort"];

const DOCUMENTATION: Readonly<Record<keyof typeof ROUTES, Documentation>> = {
  evaluateFeatureFlag: {
    summary: "Evaluate a flag",
    body: of({ flagKey: string, default: any, ...evaluationBody, contextInResponse: boolean }, ["flagKey"]),
    result: of({ ...evaluationFields, evaluatedAt: time, context }, ["evaluatedAt"]),
  },
  evaluateFeatureFlags: {
    summary: "Evaluate several flags",
    body: of({ flagKeys: list(string), defaults: object, ...evaluationBody, contextInResponse: boolean }, [
      "flagKeys",
    ]),
    result: of(evaluations, ["flags", "evaluatedAt"]),
  },
  bootstrapFeatureFlags: {
    summary: "Evaluate all flags",
    body: of({ include: list(string), prefix: string, includeDisabled: boolean, ...evaluationBody }),
    result: of(evaluations, ["flags", "evaluatedAt", "context"]),
  },
  createFeatureFlagEvent: {
    summary: "Record an event",
    body: of(eventFields, ["flagKey", "event"]),
    result: of({ success: boolean, eventId: string }, ["success", "eventId"]),
  },
  createFeatureFlagEventBatch: {
    summary: "Record up to 1,000 events",
    body: of(
      {
        events: list(of({ ...eventFields, idempotencyKey: string }, ["flagKey", "event"])),
        sampleRate: eventFields["sampleRate"] ?? number,
        idempotencyKey: string,
      },
      ["events"],
    ),
    result: of({ success: integer, failed: integer, batchId: string }, ["success", "failed", "batchId"]),
  },
  evaluateOfrepFlagRoute: {
    summary: "Evaluate a flag by OFREP",
    body: of({ context: object }),
    result: of({ key: string, ...ofrepFields }, ["key", "value", "reason"]),
  },
  evaluateOfrepFlagsRoute: {
    summary: "Evaluate all flags by OFREP",
    body: of({ context: object }),
    result: of({ flags: list(of({ key: string, ...ofrepFields })), metadata: object }, ["flags"]),
  },
  getFeatureFlagsHealth: {
    summary: "How the service is",
    result: of(
      {
        status: oneOf("ok", "degraded"),
        version: string,
        revision: integer,
        snapshotAgeMs: number,
        stale: boolean,
        problem: string,
        transactions: oneOf("unproven", "ok", "refused"),
        bus: oneOf("off", "up", "down"),
        fastPath: oneOf("on", "off"),
        fastPathReason: string,
      },
      ["status", "version"],
    ),
  },
  getFeatureFlagsReadiness: {
    summary: "Whether this process can answer for flags; 503 when it cannot",
    result: of({ ready: boolean, reason: string }, ["ready"]),
  },
  getFeatureFlagsMetrics: { summary: "The metrics of this process as Prometheus text" },
  listFeatureFlags: {
    summary: "List flags",
    query: [...pageQuery, "q", "type", "enabled", "prefix", "include"],
    result: of({ flags: list(flag), page }, ["flags", "page"]),
  },
  createFeatureFlag: {
    summary: "Create a flag",
    body: of({ ...flagFields, ...owned }, ["key", "name", "type"]),
    status: 201,
    result: flag,
  },
  getFeatureFlagRoute: { summary: "Read a flag", result: flag },
  updateFeatureFlag: { summary: "Change a flag", result: flag },
  updateFeatureFlagRoute: { summary: "Change a flag", body: of(flagFields), result: flag },
  deleteFeatureFlag: { summary: "Delete a flag", status: 204 },
  deleteFeatureFlagRoute: { summary: "Delete a flag with its rules and overrides", status: 204 },
  explainFeatureFlag: {
    summary: "Explain what a flag gives",
    body: of({ context, environment: string }),
    result: of({
      result: of(evaluationFields),
      steps: list(of({ step: string, outcome: string, detail: object })),
    }),
  },
  getFeatureFlagStats: {
    summary: "Statistics of a flag",
    query: ["start", "end"],
    result: of({
      flagId: string,
      window,
      evaluations: integer,
      uniqueUsers: integer,
      byReason: object,
      byVariant: object,
      series,
    }),
  },
  getFeatureFlagUsage: {
    summary: "Statistics of all flags",
    query: ["organizationId", "start", "end"],
    result: of({
      window,
      flags: of({ total: integer, enabled: integer, stale: integer }),
      evaluations: integer,
      events: number,
      top: list(of({ flagId: string, flagKey: string, evaluations: integer })),
      series,
    }),
  },
  listFeatureFlagRules: { summary: "List a flag's rules", result: of({ rules: list(rule) }, ["rules"]) },
  createFeatureFlagRule: { summary: "Create a rule", status: 201, result: rule },
  createFeatureFlagRuleRoute: {
    summary: "Create a rule",
    body: of(ruleFields, ["priority", "conditions"]),
    status: 201,
    result: rule,
  },
  updateFeatureFlagRuleRoute: { summary: "Change a rule", body: of(ruleFields), result: rule },
  deleteFeatureFlagRuleRoute: { summary: "Delete a rule", status: 204 },
  listFeatureFlagOverrides: {
    summary: "List overrides",
    query: [...pageQuery, "flagId", "userId", "q"],
    result: of({ overrides: list(override), page }, ["overrides", "page"]),
  },
  createFeatureFlagOverride: {
    summary: "Create an override",
    body: of(overrideFields, ["flagId", "userId", "value"]),
    status: 201,
    result: override,
  },
  deleteFeatureFlagOverrideRoute: { summary: "Delete an override", status: 204 },
  listFeatureFlagSegments: {
    summary: "List segments",
    query: pageQuery,
    result: of({ segments: list(segment), page }, ["segments", "page"]),
  },
  createFeatureFlagSegment: {
    summary: "Create a segment",
    body: of({ key: string, ...segmentFields, ...owned }, ["key", "conditions"]),
    status: 201,
    result: segment,
  },
  getFeatureFlagSegment: { summary: "Read a segment", result: segment },
  updateFeatureFlagSegment: { summary: "Change a segment", body: of(segmentFields), result: segment },
  deleteFeatureFlagSegment: { summary: "Delete a segment that nothing uses", status: 204 },
  listFeatureFlagAuditEntries: {
    summary: "Read the audit log",
    query: ["organizationId", "flagId", "userId", "action", "start", "end", "limit", "offset"],
    result: of({ entries: list(auditEntry) }, ["entries"]),
  },
};

type Content = { content?: { "application/json": { schema: ObjectSchema } } };

/** What Better Auth's OpenAPI plugin reads. */
export type OpenApiOperation = {
  operationId: string;
  summary: string;
  tags: string[];
  parameters?: { name: string; in: "query"; schema: { type: "string" } }[];
  requestBody?: Required<Content>;
  responses: { [status: string]: { description: string } & Content };
};

export function documentationOf(operation: keyof typeof ROUTES): OpenApiOperation {
  const { summary, body, query, status = 200, result } = DOCUMENTATION[operation];
  return {
    operationId: operation,
    summary,
    tags: ["Feature flags"],
    ...(query && {
      parameters: query.map((name) => ({ name, in: "query", schema: { type: "string" } })),
    }),
    ...(body && { requestBody: { content: { "application/json": { schema: body } } } }),
    responses: {
      [status]: {
        description: status === 204 ? "Done; no body" : "Success",
        ...(result && { content: { "application/json": { schema: result } } }),
      },
    },
  };
}
