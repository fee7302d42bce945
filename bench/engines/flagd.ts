/** flagd's engine in process with its generated code, which is its fastest mode. */
import { FlagdCore } from "@openfeature/flagd-core";
import { COUNTRY, type Engine, keys, LOGINS, PLANS, SHARE, users } from "./workload.ts";

const quiet = { error() {}, warn() {}, info() {}, debug() {} };

export function start(): Engine {
  const matches = {
    and: [
      { in: [{ var: "plan" }, PLANS] },
      { or: [{ "==": [{ var: "country" }, COUNTRY] }, { ">": [{ var: "loginCount" }, LOGINS] }] },
    ],
  };
  const split = {
    fractional: [
      { cat: [{ var: "$flagd.flagKey" }, { var: "targetingKey" }] },
      ["on", SHARE],
      ["off", 100 - SHARE],
    ],
  };
  const flag = {
    state: "ENABLED",
    variants: { on: true, off: false },
    defaultVariant: "off",
    targeting: { if: [matches, split, "off"] },
  };
  const core = new FlagdCore(undefined, quiet);
  core.setConfigurations(JSON.stringify({ flags: Object.fromEntries(keys.map((key) => [key, flag])) }));
  const contexts = users.map(({ id, ...attributes }) => ({ targetingKey: id, ...attributes }));
  return {
    keys,
    isOn: (index, user) =>
      core.resolveBooleanEvaluation(keys[index] as string, false, contexts[user] ?? {}).value,
  };
}
