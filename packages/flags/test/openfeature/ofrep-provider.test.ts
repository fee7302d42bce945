/** Checks OFREP with OpenFeature's own provider for it, and its responses with the schema of the protocol. */
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { type Client, type EvaluationContext, OpenFeature } from "@openfeature/server-sdk";
import { Ajv } from "ajv";
import { afterAll, describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { flag, suiteHost } from "../memory-host.ts";
import { OFREP_SCHEMAS } from "./ofrep-schema.ts";

const PATH = "/ofrep/v1/evaluate/flags";
let host: Host;
let ada: Person;
let anonymous: Client;
let server: Client;

suiteHost({}, async (started) => {
  host = started;
  ada = await host.person("ada");
  const { api } = host.auth;
  const make = (fields: object) => api.createFeatureFlag({ body: flag({ enabled: true, ...fields }) });
  await make({ key: "boolean", type: "boolean", defaultValue: true });
  await make({ key: "number", type: "number", defaultValue: 1.5 });
  await make({ key: "object", type: "json", defaultValue: { list: [1, { a: "b" }] } });
  await make({ key: "list", type: "json", defaultValue: [1, 2] });
  await make({ key: "nothing", type: "json", defaultValue: null });
  await make({ key: "off", type: "boolean", enabled: false, defaultValue: true });
  await make({ key: "rollout", type: "boolean", rolloutPercentage: 100 });
  await make({ key: "split", type: "string", variants: [{ key: "only", weight: 100, value: "v" }] });
  await make({ key: "hidden", type: "string", visibility: "server", defaultValue: "server's own" });
  const targeted = await make({ key: "targeted", type: "string", defaultValue: "d" });
  const conditions = { conditions: [{ attribute: "plan", operator: "equals" as const, value: "pro" }] };
  await api.createFeatureFlagRule({
    body: { flagId: targeted.id, priority: 1, conditions, value: "for pros" },
  });
  await api.createFeatureFlagOverride({ body: { flagId: targeted.id, userId: ada.id, value: "ada's" } });
  anonymous = await clientOf("ofrep-anonymous");
  const { headers } = await host.key({ userId: ada.id }, ["evaluate-as"]);
  server = await clientOf("ofrep-server", Object.entries(headers));
});
afterAll(() => OpenFeature.close());

async function clientOf(domain: string, headers: [string, string][] = []): Promise<Client> {
  const provider = new OFREPProvider({ baseUrl: `${host.origin}/api/auth`, headersFactory: () => headers });
  await OpenFeature.setProviderAndWait(domain, provider);
  return OpenFeature.getClient(domain);
}

describe("OpenFeature's OFREP provider", () => {
  test("reads values of every type", async () => {
    expect(await anonymous.getBooleanValue("boolean", false)).toBe(true);
    expect(await anonymous.getNumberValue("number", 0)).toBe(1.5);
    expect(await anonymous.getStringValue("targeted", "")).toBe("d");
    expect(await anonymous.getObjectValue("object", {})).toEqual({ list: [1, { a: "b" }] });
    expect(await anonymous.getObjectValue("list", [])).toEqual([1, 2]);
  });

  test.for<[string, EvaluationContext, string, string]>([
    ["a rule", { plan: "pro" }, "targeted", "TARGETING_MATCH"],
    ["no rule", { plan: "free" }, "targeted", "STATIC"],
    ["a variant", { targetingKey: "u" }, "split", "SPLIT"],
  ])("reads the reason of %s", async ([, context, key, reason]) => {
    expect(await anonymous.getStringDetails(key, "", context)).toMatchObject({ reason });
  });

  test("reads the variant and the metadata", async () => {
    expect(await anonymous.getStringDetails("split", "", { targetingKey: "u" })).toMatchObject({
      value: "v",
      variant: "only",
      flagMetadata: { revision: expect.any(Number) },
    });
    expect(await anonymous.getBooleanDetails("off", false)).toMatchObject({ reason: "DISABLED" });
  });

  test("returns the caller's default for a flag that is missing, hidden or null", async () => {
    for (const key of ["missing", "hidden"]) {
      expect(await anonymous.getStringDetails(key, "mine")).toMatchObject({
        value: "mine",
        errorCode: "FLAG_NOT_FOUND",
      });
    }
    expect(await anonymous.getObjectValue("nothing", { mine: true })).toEqual({ mine: true });
  });

  test("returns the caller's default for a context that the server refuses", async () => {
    const context = { targetingKey: "u", geo: 5 } as unknown as EvaluationContext;
    expect(await anonymous.getBooleanDetails("boolean", false, context)).toMatchObject({
      value: false,
      errorCode: "INVALID_CONTEXT",
    });
  });

  test("evaluates for any user with an API key that has evaluate-as", async () => {
    expect(await server.getStringValue("targeted", "", { targetingKey: ada.id })).toBe("ada's");
    expect(await server.getStringValue("hidden", "")).toBe("server's own");
  });
});

describe("the schema of OFREP 0.3", () => {
  const ajv = new Ajv({ strict: false, allErrors: true });
  const expectFit = (name: keyof typeof OFREP_SCHEMAS, body: unknown) => {
    const isValid = ajv.compile(OFREP_SCHEMAS[name]);
    isValid(body);
    expect(isValid.errors ?? [], JSON.stringify(body)).toEqual([]);
  };
  const ask = (path: string, context: unknown, headers: Record<string, string> = {}) =>
    host.call("POST", path, { body: { context }, headers });

  test("is what all flags together and each flag alone have", async () => {
    for (const [context, headers] of [
      [{ targetingKey: "u", plan: "pro" }, {}],
      [{}, ada.headers],
    ] as const) {
      const { status, json } = await ask(PATH, context, headers);
      expect([status, json.flags.length]).toEqual([200, 9]);
      expectFit("bulkEvaluationSuccess", json);
      for (const { key } of json.flags) {
        const single = await ask(`${PATH}/${key}`, context, headers);
        expect(single.status).toBe(200);
        expectFit("evaluationSuccess", single.json);
      }
    }
  });

  test("is what refusals have", async () => {
    expectFit("evaluationFailure", (await ask(`${PATH}/boolean`, 5)).json);
    expectFit("bulkEvaluationFailure", (await ask(PATH, 5)).json);
    expectFit("flagNotFound", (await ask(`${PATH}/missing`, {})).json);
    expectFit("generalErrorResponse", (await ask(PATH, { targetingKey: "x" }, ada.headers)).json);
  });

  test("refuses a reason that the protocol does not have, and a null", () => {
    const isValid = ajv.compile(OFREP_SCHEMAS.evaluationSuccess);
    expect(isValid({ key: "k", value: true, reason: "STATIC" })).toBe(true);
    expect(isValid({ key: "k", value: true, reason: "DEFAULT" })).toBe(false);
    expect(isValid({ key: "k", value: null, reason: "STATIC" })).toBe(false);
  });
});
