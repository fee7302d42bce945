/** Unleash's client with flags from memory. It has no OR: two strategies share one rollout. */
import { Unleash } from "unleash-client";
import { COUNTRY, type Engine, keys, LOGINS, PLANS, SHARE, users } from "./workload.ts";

export async function start(): Promise<Engine> {
  const plain = { caseInsensitive: false, inverted: false };
  const paying = { contextName: "plan", operator: "IN", values: [...PLANS], ...plain };
  const strategy = (key: string, constraint: object) => ({
    name: "flexibleRollout",
    parameters: { rollout: String(SHARE), stickiness: "userId", groupId: key },
    constraints: [paying, { ...constraint, ...plain }],
  });
  const features = keys.map((name) => ({
    name,
    type: "release",
    enabled: true,
    stale: false,
    impressionData: false,
    project: "default",
    variants: [],
    strategies: [
      strategy(name, { contextName: "country", operator: "IN", values: [COUNTRY] }),
      strategy(name, { contextName: "loginCount", operator: "NUM_GT", value: String(LOGINS), values: [] }),
    ],
  }));
  const client = new Unleash({
    appName: "bench",
    url: "http://127.0.0.1:9/api/",
    refreshInterval: 0,
    disableMetrics: true,
    disableAutoStart: true,
    skipInstanceCountWarning: true,
    bootstrap: { data: features as never },
  });
  // It tries to reach its server, but the flags are available without it.
  client.on("error", () => undefined);
  client.on("warn", () => undefined);
  await client.start();
  const contexts = users.map(({ id, plan, country, loginCount }) => ({
    userId: id,
    properties: { plan, country, loginCount: String(loginCount) },
  }));
  return { keys, isOn: (flag, user) => client.isEnabled(keys[flag] as string, contexts[user] ?? {}) };
}
