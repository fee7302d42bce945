import { expect, test } from "vitest";

// A change of the public names is a reviewed diff of this file.
test.each([
  ["@halyard/sessions", ["IdentityError", "connectSessions", "findCaller", "followCaller", "forgetCaller"]],
  [
    "@halyard/sessions/plugin",
    [
      "IdentityError",
      "KEY_HEADER",
      "RequestIdentity",
      "addressOf",
      "changeHooks",
      "createIdentities",
      "findKey",
      "followedTokenOf",
      "hasOrganizations",
      "headersOf",
      "isHarmlessPlugin",
      "isOtherForm",
      "isPossibleId",
      "isServerCall",
      "mayExist",
      "organizationsUnavailable",
      "permissionsOn",
      "personalPermissions",
      "personalUntil",
      "recallCaller",
      "watchFields",
      "watchIdentityWrites",
    ],
  ],
  ["@halyard/sessions/postgres", ["postgresSessionBus"]],
  ["@halyard/sessions/redis", ["redisSessionBus"]],
])("%s exports exactly these names", async (entry, names) => {
  expect(Object.keys(await import(entry)).sort()).toEqual(names);
});
