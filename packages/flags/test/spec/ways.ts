/** Calls every operation over HTTP or through the server methods, behind one interface, so that tests run on both. */
import { type Answer, answerOf, type Host, type Person } from "../host.ts";

type Fields = Record<string, unknown>;

/** One way to call the operations. Every response is a status, headers and JSON. */
export interface Way {
  evaluate(body: unknown, headers?: Record<string, string>): Promise<Answer>;
  batch(body: unknown, headers?: Record<string, string>): Promise<Answer>;
  bootstrap(body: unknown, headers?: Record<string, string>): Promise<Answer>;
  event(body: unknown, headers?: Record<string, string>): Promise<Answer>;
  eventBatch(body: unknown, headers?: Record<string, string>): Promise<Answer>;
  stats(flagId: string, query?: Fields): Promise<Answer>;
  usage(query?: Fields): Promise<Answer>;
  createFlag(body: unknown): Promise<Answer>;
  listFlags(query?: Fields): Promise<Answer>;
  getFlag(id: string): Promise<Answer>;
  updateFlag(id: string, patch: Fields, version?: number): Promise<Answer>;
  deleteFlag(id: string, version?: number): Promise<Answer>;
  explain(id: string, body: Fields): Promise<Answer>;
  createRule(flagId: string, rule: Fields): Promise<Answer>;
  listRules(flagId: string): Promise<Answer>;
  updateRule(flagId: string, ruleId: string, patch: Fields, version?: number): Promise<Answer>;
  deleteRule(flagId: string, ruleId: string, version?: number): Promise<Answer>;
  createOverride(body: unknown): Promise<Answer>;
  listOverrides(query?: Fields): Promise<Answer>;
  deleteOverride(id: string): Promise<Answer>;
  createSegment(body: unknown): Promise<Answer>;
  getSegment(id: string): Promise<Answer>;
  updateSegment(id: string, patch: Fields, version?: number): Promise<Answer>;
  deleteSegment(id: string, version?: number): Promise<Answer>;
  listAudit(query?: Fields): Promise<Answer>;
}

export interface Ways {
  readonly host: Host;
  readonly admin: Person;
}

const ADMIN = "/feature-flags/admin";

function overHttp({ host, admin }: Ways): Way {
  const as = admin;
  const evaluate = (path: string) => (body: unknown, headers?: Record<string, string>) =>
    host.call("POST", `/feature-flags/${path}`, { body, ...(headers && { headers }) });
  const match = (version: number | undefined) =>
    version === undefined ? {} : { headers: { "if-match": `"${version}"` } };
  const get = (path: string, query: Fields = {}) => {
    const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    return host.call("GET", `${ADMIN}/${path}?${search}`, { as });
  };
  const patch = (path: string, body: Fields, version?: number) =>
    host.call("PATCH", `${ADMIN}/${path}`, { as, body, ...match(version) });
  const remove = (path: string, version?: number) =>
    host.call("DELETE", `${ADMIN}/${path}`, { as, ...match(version) });
  return {
    evaluate: evaluate("evaluate"),
    batch: evaluate("evaluate-batch"),
    bootstrap: evaluate("bootstrap"),
    event: evaluate("events"),
    eventBatch: evaluate("events/batch"),
    stats: (flagId, query) => get(`flags/${flagId}/stats`, query),
    usage: (query) => get("metrics/usage", query),
    createFlag: (body) => host.call("POST", `${ADMIN}/flags`, { as, body }),
    listFlags: (query) => get("flags", query),
    getFlag: (id) => get(`flags/${id}`),
    updateFlag: (id, body, version) => patch(`flags/${id}`, body, version),
    deleteFlag: (id, version) => remove(`flags/${id}`, version),
    explain: (id, body) => host.call("POST", `${ADMIN}/flags/${id}/explain`, { as, body }),
    createRule: (flagId, body) => host.call("POST", `${ADMIN}/flags/${flagId}/rules`, { as, body }),
    listRules: (flagId) => get(`flags/${flagId}/rules`),
    updateRule: (flagId, ruleId, body, version) => patch(`flags/${flagId}/rules/${ruleId}`, body, version),
    deleteRule: (flagId, ruleId, version) => remove(`flags/${flagId}/rules/${ruleId}`, version),
    createOverride: (body) => host.call("POST", `${ADMIN}/overrides`, { as, body }),
    listOverrides: (query) => get("overrides", query),
    deleteOverride: (id) => remove(`overrides/${id}`),
    createSegment: (body) => host.call("POST", `${ADMIN}/segments`, { as, body }),
    getSegment: (id) => get(`segments/${id}`),
    updateSegment: (id, body, version) => patch(`segments/${id}`, body, version),
    deleteSegment: (id, version) => remove(`segments/${id}`, version),
    listAudit: (query) => get("audit", query),
  };
}

/** A server method without its input type, because tests also send invalid input. */
type Loose = (input: Fields) => Promise<Response>;

function throughMethods({ host }: Ways): Way {
  const { api } = host.auth;
  const call = async (method: unknown, input: Fields) =>
    answerOf(await (method as Loose)({ ...input, asResponse: true }));
  const evaluate = (method: unknown) => (body: unknown, headers?: Record<string, string>) =>
    call(method, { body, ...(headers && { headers: new Headers(headers) }) });
  const versionOf = (version: number | undefined) => (version === undefined ? {} : { version });
  return {
    evaluate: evaluate(api.evaluateFeatureFlag),
    batch: evaluate(api.evaluateFeatureFlags),
    bootstrap: evaluate(api.bootstrapFeatureFlags),
    event: evaluate(api.createFeatureFlagEvent),
    eventBatch: evaluate(api.createFeatureFlagEventBatch),
    stats: (id, query) => call(api.getFeatureFlagStats, { params: { id }, query }),
    usage: (query) => call(api.getFeatureFlagUsage, { query }),
    createFlag: (body) => call(api.createFeatureFlag, { body }),
    listFlags: (query) => call(api.listFeatureFlags, { query }),
    getFlag: (id) => call(api.getFeatureFlag, { params: { id } }),
    updateFlag: (id, patch, version) =>
      call(api.updateFeatureFlag, { body: { id, ...patch, ...versionOf(version) } }),
    deleteFlag: (id, version) => call(api.deleteFeatureFlag, { body: { id, ...versionOf(version) } }),
    explain: (id, body) => call(api.explainFeatureFlag, { params: { id }, body }),
    createRule: (flagId, rule) => call(api.createFeatureFlagRule, { body: { flagId, ...rule } }),
    listRules: (flagId) => call(api.listFeatureFlagRules, { params: { flagId } }),
    updateRule: (flagId, ruleId, patch, version) =>
      call(api.updateFeatureFlagRule, { body: { flagId, ruleId, ...patch, ...versionOf(version) } }),
    deleteRule: (flagId, ruleId, version) =>
      call(api.deleteFeatureFlagRule, { params: { flagId, ruleId }, body: versionOf(version) }),
    createOverride: (body) => call(api.createFeatureFlagOverride, { body }),
    listOverrides: (query) => call(api.listFeatureFlagOverrides, { query }),
    deleteOverride: (id) => call(api.deleteFeatureFlagOverride, { body: { id } }),
    createSegment: (body) => call(api.createFeatureFlagSegment, { body }),
    getSegment: (id) => call(api.getFeatureFlagSegment, { params: { id } }),
    updateSegment: (id, patch, version) =>
      call(api.updateFeatureFlagSegment, { params: { id }, body: { ...patch, ...versionOf(version) } }),
    deleteSegment: (id, version) =>
      call(api.deleteFeatureFlagSegment, { params: { id }, body: versionOf(version) }),
    listAudit: (query) => call(api.listFeatureFlagAuditEntries, { query }),
  };
}

/** Both ways with their names, for `describe.each`. */
export const WAYS: readonly (readonly [string, (ways: Ways) => Way])[] = [
  ["over HTTP", overHttp],
  ["through the server methods", throughMethods],
];

export const everyone = { conditions: [] };
export const when = (attribute: string, operator: string, value: unknown) => ({
  conditions: [{ attribute, operator, value }],
});
