/** GrowthBook's client for many users, which is faster than one instance per user. */
import { GrowthBookClient } from "@growthbook/growthbook";
import { COUNTRY, type Engine, keys, LOGINS, PLANS, SHARE, users } from "./workload.ts";

export function start(): Engine {
  const feature = {
    defaultValue: false,
    rules: [
      {
        condition: {
          plan: { $in: [...PLANS] },
          $or: [{ country: COUNTRY }, { loginCount: { $gt: LOGINS } }],
        },
        force: true,
        coverage: SHARE / 100,
        hashAttribute: "id",
      },
    ],
  };
  const features = Object.fromEntries(keys.map((key) => [key, feature]));
  const client = new GrowthBookClient().initSync({ payload: { features } });
  const contexts = users.map((attributes) => ({ attributes: { ...attributes } }));
  return { keys, isOn: (flag, user) => client.isOn(keys[flag] as string, contexts[user] ?? {}) };
}
