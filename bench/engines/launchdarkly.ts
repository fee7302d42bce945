/** LaunchDarkly's server SDK with flags from memory and no events. It has no OR: two rules share one rollout. */
import { init } from "@launchdarkly/node-server-sdk";
import { TestData } from "@launchdarkly/node-server-sdk/integrations";
import { COUNTRY, type Engine, keys, LOGINS, PLANS, SHARE, users } from "./workload.ts";

const quiet = { error() {}, warn() {}, info() {}, debug() {} };

export async function start(): Promise<Engine> {
  const data = new TestData();
  const clause = (attribute: string, op: string, values: readonly unknown[]) => ({
    attribute,
    op,
    values,
    negate: false,
    contextKind: "user",
  });
  const rollout = {
    variations: [
      { variation: 0, weight: SHARE * 1_000 },
      { variation: 1, weight: (100 - SHARE) * 1_000 },
    ],
    contextKind: "user",
  };
  const paying = clause("plan", "in", PLANS);
  for (const key of keys) {
    await data.usePreconfiguredFlag({
      key,
      version: 1,
      on: true,
      salt: `salt-${key}`,
      variations: [true, false],
      offVariation: 1,
      fallthrough: { variation: 1 },
      targets: [],
      prerequisites: [],
      rules: [
        { id: "country", clauses: [paying, clause("country", "in", [COUNTRY])], rollout },
        { id: "logins", clauses: [paying, clause("loginCount", "greaterThan", [LOGINS])], rollout },
      ],
    });
  }
  const client = init("sdk-key", {
    updateProcessor: data.getFactory(),
    sendEvents: false,
    diagnosticOptOut: true,
    logger: quiet,
  });
  await client.waitForInitialization({ timeout: 5 });
  const contexts = users.map(({ id, ...attributes }) => ({ kind: "user", key: id, ...attributes }));
  return {
    keys,
    isOn: (flag, user) =>
      client.boolVariation(keys[flag] as string, contexts[user] ?? { kind: "user", key: "" }, false),
  };
}
