/** Checks that `featureFlags()` refuses unknown options and impossible values, and says what to change. */
import {
  defineFlags,
  type FeatureFlagsOptions,
  featureFlags,
  postgresBus,
  type RateLimitStore,
} from "@halyard/flags";
import { betterAuth } from "better-auth";
import { expect, test } from "vitest";
import { freshPostgres } from "./databases.ts";

/** Every message ends with the page that explains it. */
const SEE =
  "See https://github.com/halyard/halyard/blob/main/docs/guide/flags-troubleshooting.md#start-up-and-programming-errors";

/** The message for options as a program without types would pass them. */
function messageOf(options: object): string {
  try {
    featureFlags(options as FeatureFlagsOptions);
    return "accepted";
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return (error as TypeError).message;
  }
}

test.each<[object, string]>([
  [{ multiTennant: true }, 'there is no option "multiTennant". Did you mean "multiTenant"?'],
  [{ multitenant: true }, 'there is no option "multitenant". Did you mean "multiTenant"?'],
  [{ rateLimits: false }, 'there is no option "rateLimits". Did you mean "rateLimit"?'],
  [{ idnetity: "verified" }, 'there is no option "idnetity". Did you mean "identity"?'],
  [
    { events: { retentionDay: 5 } },
    'there is no option "events.retentionDay". Did you mean "events.retentionDays"?',
  ],
  [
    { environments: { protect: [] } },
    'there is no option "environments.protect". Did you mean "environments.protected"?',
  ],
  [
    { environments: { defualt: "beta" } },
    'there is no option "environments.defualt". Did you mean "environments.default"?',
  ],
  [{ context: { colect: true } }, 'there is no option "context.colect". Did you mean "context.collect"?'],
  [
    { rateLimit: { rules: { evalute: { max: 5, windowSeconds: 60 } } } },
    'there is no rate-limit rule "rateLimit.rules.evalute". Did you mean "rateLimit.rules.evaluate"?',
  ],
  [
    { rateLimit: { rules: { evaluate: { max: 5, window: 60 } } } },
    'there is no option "rateLimit.rules.evaluate.window". Did you mean "rateLimit.rules.evaluate.windowSeconds"?',
  ],
  [
    { schema: { featureFlags: { modelName: "flags" } } },
    'there is no table "schema.featureFlags". Did you mean "schema.featureFlag"?',
  ],
  [
    { schema: { featureFlag: { fields: { defaultvalue: "d" } } } },
    'there is no option "schema.featureFlag.fields.defaultvalue". Did you mean "schema.featureFlag.fields.defaultValue"?',
  ],
  [
    { flags: { sale: { type: "boolean", defaultValue: true } } },
    'there is no option "flags["sale"].defaultValue". Did you mean "flags["sale"].default"?',
  ],
])("a misspelt name is refused with the nearest known one: %j", (options, message) => {
  expect(messageOf(options)).toBe(`featureFlags: ${message} ${SEE}`);
});

test("a name that is near no other is refused with the list of names", () => {
  expect(messageOf({ colour: "red" })).toMatch(
    /^featureFlags: there is no option "colour"\. Use one of flags, multiTenant, identity, /,
  );
  expect(messageOf({ rateLimit: { rules: { quick: false } } })).toContain(
    "Use one of evaluate, evaluate-batch,",
  );
});

test.each<[object, string]>([
  [{ multiTenant: "yes" }, 'multiTenant is "yes". Set it to true or false.'],
  [{ identity: "verify" }, 'identity is "verify". Set it to "claimed" or "verified".'],
  [{ defaultVisibility: "private" }, 'defaultVisibility is "private". Set it to "public" or "server".'],
  [{ fastPath: true }, 'fastPath is true. Set it to "force" or false.'],
  [{ permission: "admin" }, 'permission is "admin". Set it to a function.'],
  [{ onAuditHead: {} }, "onAuditHead is {}. Set it to a function."],
  [{ poll: 500 }, "poll is 500. Set it to true or false."],
  [{ environments: "beta" }, 'environments is "beta". Set it to an object.'],
  [{ environments: { default: "" } }, 'environments.default is "". Set it to a text that is not empty.'],
  [{ environments: { claimable: "beta" } }, 'environments.claimable is "beta". Set it to a list.'],
  [
    { environments: { claimable: [1] } },
    "environments.claimable[0] is 1. Set it to a text that is not empty.",
  ],
  [
    { environments: { list: [] } },
    "environments.list is []. Set it to a list with at least one name, or leave it out.",
  ],
  [
    { environments: { list: ["x".repeat(256)] } },
    "environments.list[0] has more than 255 characters. Use a shorter name.",
  ],
  [
    { environments: { protected: ["production"] } },
    "environments.protected needs environments.list. Set environments.list to the names of all environments.",
  ],
  [
    { environments: { list: ["production", "staging"], protected: ["production", "prodution"] } },
    'environments.protected[1] is "prodution", which environments.list does not have. Did you mean "production"? Add it to environments.list, or change environments.protected[1].',
  ],
  [
    { environments: { list: ["staging"], default: "live" } },
    'environments.default is "live", which environments.list does not have. Add it to environments.list, or change environments.default.',
  ],
  [
    { environments: { list: ["staging"], claimable: ["staging", "qa"] } },
    'environments.claimable[1] is "qa", which environments.list does not have. Add it to environments.list, or change environments.claimable[1].',
  ],
  [{ events: { sinks: {} } }, "events.sinks is {}. Set it to a list."],
  [{ events: { retentionDays: 0 } }, "events.retentionDays is 0. Set it to a number above 0."],
  [{ rateLimit: true }, "rateLimit is true. Set it to an object, or false."],
  [
    { rateLimit: { store: {} } },
    "rateLimit.store is {}. Set it to a RateLimitStore, which has the method take.",
  ],
  [
    { rateLimit: { rules: { evaluate: { max: 0, windowSeconds: 60 } } } },
    'rateLimit.rules["evaluate"].max is 0. Give a whole number from 1, or false.',
  ],
  [
    { flags: { sale: { type: "bool" } } },
    'flags["sale"].type is "bool". Set it to one of boolean, string, number, json.',
  ],
  [
    { flags: { sale: { type: "boolean", default: "on" } } },
    'flags["sale"].default is "on". Set it to a value of type boolean.',
  ],
  [
    { flags: { mode: { type: "string", values: ["a", "b"], default: "zzz" } } },
    'flags["mode"].default is "zzz", not one of "a", "b". Change the default or its declaration.',
  ],
  [
    { flags: { "a b": { type: "boolean" } } },
    'flags declares the key "a b". Use 1–128 characters of A-Z, a-z, 0-9, _ and -.',
  ],
])("an impossible value is refused with the possible ones: %j", (options, message) => {
  expect(messageOf(options)).toBe(`featureFlags: ${message} ${SEE}`);
});

test("every known option is accepted, and undefined counts as absent", async () => {
  class Store implements RateLimitStore {
    take = async () => ({ granted: 1, resetMs: 1 });
  }
  class InheritingStore extends Store {}
  const postgres = await freshPostgres();
  const { database, close } = postgres.connect();
  const options: Required<FeatureFlagsOptions> = {
    flags: defineFlags({ mode: { type: "string", values: ["a", "b"], default: "a", variants: ["x"] } }),
    multiTenant: true,
    identity: "verified",
    trusted: { user: ["role"], compute: () => ({}) },
    environments: {
      default: "production",
      claimable: ["beta"],
      list: ["production", "beta"],
      protected: ["production"],
    },
    defaultVisibility: "server",
    context: { collect: true },
    permission: () => true,
    events: { retentionDays: 1, sinks: [] },
    poll: false,
    postgres: database,
    bus: postgresBus(database),
    rateLimit: {
      rules: { evaluate: false, off: { max: 1, windowSeconds: 1 } },
      keys: { max: 1, windowSeconds: 1 },
      store: new InheritingStore(),
    },
    fastPath: "force",
    onAuditHead: () => undefined,
    online: () => [],
    schema: { featureFlag: { modelName: "flag", fields: { key: "flag_key" } } },
  };
  expect(messageOf(options)).toBe("accepted");
  const absent = Object.fromEntries(Object.keys(options).map((name) => [name, undefined]));
  expect(messageOf(absent)).toBe("accepted");
  await close();
  await postgres.drop();
});

test("multiTenant without the organization plugin does not start, and the log says what to add", async () => {
  const logged: string[] = [];
  const auth = betterAuth({
    baseURL: "http://localhost",
    secret: "a secret that is only good enough for tests, which is all it does",
    logger: { log: (_level, message) => logged.push(message) },
    plugins: [featureFlags({ multiTenant: true })],
  });
  await expect(auth.$context).rejects.toThrow("Add organization() to the plugins, or remove multiTenant.");
  expect(logged.join()).toContain("Add organization() to the plugins");
});
