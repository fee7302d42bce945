/** Checks that HTTP, server methods, client, React, OFREP and OpenFeature return the same value of a flag. */
import { type CreateFeatureFlagInput, createServerFlags } from "@halyard/flags";
import { createServerProvider } from "@halyard/flags/openfeature";
import { createWebProvider } from "@halyard/flags/openfeature/web";
import { FeatureFlagsProvider, useFeatureFlag, useVariant } from "@halyard/flags/react";
import { OpenFeature as ServerOpenFeature } from "@openfeature/server-sdk";
import { OpenFeature as WebOpenFeature } from "@openfeature/web-sdk";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { afterAll, describe, expect, test } from "vitest";
import type { EvaluationContext, RuleConditions } from "../../src/engine/definition.ts";
import { OPENFEATURE_REASONS } from "../../src/model/openfeature.ts";
import { Generator } from "../engine/generate.ts";
import { createRandom, seedOfRun } from "../engine/random.ts";
import type { Host } from "../host.ts";
import { suiteHost } from "../memory-host.ts";
import { createClient } from "./kit.ts";

const FLAGS = 40;
const CONTEXTS = 5;
const seed = seedOfRun();
const generator = new Generator(createRandom(seed));
let host: Host;
const flags: { readonly id: string; readonly key: string }[] = [];

suiteHost({}, async (started) => {
  host = started;
  const { api } = host.auth;
  // In reverse order, because a segment refers only to later ones.
  for (const [key, conditions] of [...generator.flag().segments].reverse()) {
    const create = (usable: RuleConditions) =>
      api.createFeatureFlagSegment({ body: { key, conditions: usable } });
    // Half of a character does not survive JSON, and a write refuses operators with an empty text.
    const isUsable = !JSON.stringify(conditions).includes("\\ud800");
    await (isUsable
      ? create(conditions).catch(() => create({ conditions: [] }))
      : create({ conditions: [] }));
  }
  while (flags.length < FLAGS) {
    const { flag } = generator.flag();
    const { rules, environments: _environments, ...fields } = flag;
    const key = `flag-${flags.length}`;
    try {
      // Some generated flags are over the size limit, so another one is generated.
      // The type of a generated flag is not known at compile time.
      const body = { ...fields, key, name: key } as CreateFeatureFlagInput;
      const { id } = await api.createFeatureFlag({ body });
      flags.push({ id, key });
      for (const [priority, { id: _id, salt: _salt, ...rule }] of rules.entries()) {
        await api.createFeatureFlagRule({ body: { flagId: id, priority, ...rule } });
      }
    } catch (error) {
      if (!(error instanceof Error && "statusCode" in error && error.statusCode === 400)) throw error;
    }
  }
  const [first] = flags;
  if (first !== undefined) {
    const { value } = await api.evaluateFeatureFlag({ body: { flagKey: first.key } });
    await api.createFeatureFlagOverride({ body: { flagId: first.id, userId: "u1", value } });
  }
});
afterAll(async () => {
  await ServerOpenFeature.close();
  await WebOpenFeature.close();
});

/** A generated claim of a visitor, with text that survives JSON and headers. Every visitor has an id. */
function claim(): Omit<EvaluationContext, "environment"> {
  const {
    environment: _environment,
    // A visitor may not claim these.
    email: _email,
    role: _role,
    organizationId = "acme",
    anonymousId = "visitor",
    ...context
  } = generator.context();
  const claimed = { ...context, anonymousId, organizationId: organizationId.slice(0, 255) || "acme" };
  return JSON.stringify(claimed).includes("\\ud800") ? claim() : claimed;
}

interface Seen {
  readonly value: unknown;
  readonly variant: string | null;
  readonly reason?: string;
}
type Surface = (context: Omit<EvaluationContext, "environment">) => Promise<Map<string, Seen>>;

type Fields = { value: unknown; variant?: string; reason: keyof typeof OPENFEATURE_REASONS };
const seen = ({ value, variant = undefined, reason }: Fields): Seen => ({
  value,
  variant: variant ?? null,
  reason: OPENFEATURE_REASONS[reason],
});
/** OFREP has no reason `DEFAULT` and no null. */
const ofrepSeen = ({ value = null, variant = null, reason = "" }: Partial<Seen>): Seen => ({
  value,
  variant,
  reason: reason === "STATIC" ? "DEFAULT" : reason,
});
const perFlag = async (read: (key: string) => Promise<Seen>): Promise<Map<string, Seen>> =>
  new Map(await Promise.all(flags.map(async ({ key }) => [key, await read(key)] as const)));
const fromMap = (given: Record<string, Fields>): Map<string, Seen> =>
  new Map(Object.entries(given).map(([key, fields]) => [key, seen(fields)]));
const openFeatureContext = ({ userId, ...others }: EvaluationContext) => ({
  ...(userId !== undefined && { targetingKey: userId }),
  ...others,
});

/** Calls the OpenFeature method for the type of the value. */
const kindOf = (value: unknown) => {
  const kind = typeof value;
  return kind === "boolean"
    ? "Boolean"
    : kind === "string"
      ? "String"
      : kind === "number"
        ? "Number"
        : "Object";
};

function Read({ name, results }: { readonly name: string; readonly results: Map<string, Seen> }): null {
  results.set(name, { value: useFeatureFlag(name), variant: useVariant(name)?.key ?? null });
  return null;
}

const SURFACES: Readonly<Record<string, Surface>> = {
  batch: async (context) =>
    fromMap(
      (
        await host.request("/feature-flags/evaluate-batch", {
          flagKeys: flags.map(({ key }) => key),
          context,
        })
      ).json.flags,
    ),
  bootstrap: async (context) =>
    fromMap((await host.request("/feature-flags/bootstrap", { includeDisabled: true, context })).json.flags),
  "server method": (context) =>
    perFlag(async (flagKey) => seen(await host.auth.api.evaluateFeatureFlag({ body: { flagKey, context } }))),
  "server flags": (context) => {
    const server = createServerFlags(host.auth);
    return perFlag(async (key) => ({
      value: await server.getValue(key, { context }),
      variant: await server.getVariant(key, { context }),
    }));
  },
  client: (context) => {
    const { flags: helpers } = createClient(host.origin, { context, exposures: false });
    return perFlag(async (key) => ({
      value: await helpers.getValue(key),
      variant: await helpers.getVariant(key),
    }));
  },
  React: async (context) => {
    const bootstrap = await createServerFlags(host.auth).bootstrap({ context });
    const { client } = createClient(host.origin);
    const results = new Map<string, Seen>();
    const readers = flags.map(({ key }) => createElement(Read, { key, name: key, results }));
    renderToString(createElement(FeatureFlagsProvider, { client, bootstrap }, readers));
    return results;
  },
  "OFREP, one by one": (context) =>
    perFlag(async (key) => {
      const body = { context: openFeatureContext(context) };
      const { json } = await host.request(`/ofrep/v1/evaluate/flags/${key}`, body);
      return ofrepSeen(json);
    }),
  "OFREP, all": async (context) => {
    const { json } = await host.request("/ofrep/v1/evaluate/flags", { context: openFeatureContext(context) });
    const entries = json.flags as (Seen & { key: string })[];
    return new Map(entries.map(({ key, ...fields }) => [key, ofrepSeen(fields)]));
  },
  "OpenFeature on the server": async (context) => {
    await ServerOpenFeature.setProviderAndWait(createServerProvider(host.auth, { pollMs: 0 }));
    const client = ServerOpenFeature.getClient();
    return perFlag(async (key) => {
      const kind = kindOf(
        (await host.auth.api.evaluateFeatureFlag({ body: { flagKey: key, context } })).value,
      );
      const ask = client[`get${kind}Details`].bind(client) as (...given: unknown[]) => Promise<Seen>;
      const { value, variant, reason = "" } = await ask(key, "default", openFeatureContext(context));
      return { value, variant: variant ?? null, reason };
    });
  },
  "OpenFeature in a page": async (context) => {
    const { client, flags: helpers } = createClient(host.origin, { exposures: false });
    await WebOpenFeature.setContext(openFeatureContext(context) as never);
    await WebOpenFeature.setProviderAndWait(createWebProvider(client));
    const open = WebOpenFeature.getClient();
    return perFlag(async (key) => {
      const kind = kindOf(helpers.values().read(key)?.value);
      const ask = open[`get${kind}Details`].bind(open) as (...given: unknown[]) => Seen;
      const { value, variant, reason = "" } = ask(key, "default");
      return { value, variant: variant ?? null, reason };
    });
  },
};

describe("every surface returns the same values", () => {
  const contexts = Array.from({ length: CONTEXTS }, claim);
  const reasons = new Set<string>();

  const agree = async () => {
    for (const context of contexts) {
      const wanted = await perFlag(async (flagKey) => seen((await host.evaluate({ flagKey, context })).json));
      for (const { reason } of wanted.values()) reasons.add(reason ?? "");
      for (const [name, surface] of Object.entries(SURFACES)) {
        const results = await surface(context);
        for (const { key } of flags) {
          const expected = wanted.get(key);
          const { reason = expected?.reason, ...given } = results.get(key) ?? {
            value: undefined,
            variant: null,
          };
          expect({ ...given, reason }, JSON.stringify({ seed, name, key, context })).toEqual(expected);
        }
      }
    }
  };

  test("while flags are on", async () => {
    await agree();
    expect([...reasons].sort()).toEqual(expect.arrayContaining(["DEFAULT", "SPLIT"]));
  }, 120_000);

  test("after flags are turned off", async () => {
    for (const { id } of flags) await host.auth.api.updateFeatureFlag({ body: { id, enabled: false } });
    reasons.clear();
    await agree();
    expect([...reasons]).toEqual(["DISABLED"]);
  }, 120_000);
});
