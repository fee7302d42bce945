import { expect, test } from "vitest";

// A change of the names is a reviewed diff of this file.
test.each([
  [
    "@halyard/base",
    [
      "RETRY_MS",
      "chain",
      "ignore",
      "later",
      "packMessages",
      "pause",
      "pubSubBus",
      "systemClock",
      "uuidv7",
      "within",
    ],
  ],
  ["@halyard/base/postgres", ["listen", "notificationBus", "postgresBus"]],
  ["@halyard/base/redis", ["redisBus", "runScript", "scriptRunner"]],
])("%s exports exactly these names", async (entry, names) => {
  expect(Object.keys(await import(entry)).sort()).toEqual(names);
});
