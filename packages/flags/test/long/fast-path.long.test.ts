/** Checks the fast path with 50,000 requests to both paths, and with a minute without the session store. */
import { recordEvidence } from "@halyard/services/evidence";
import { expect, test } from "vitest";
import { compare, type PathsOptions, startBothPaths } from "../both-paths.ts";
import { invite, plant } from "../generated-requests.ts";
import { HOOKED } from "../hook-plugins.ts";
import { plantInOrganization } from "../organization-flags.ts";
import { expectAnswersThrough } from "../outage-host.ts";
import { inviteUnusual } from "../unusual-callers.ts";

const REQUESTS = 50_000;
const SETTINGS: readonly (readonly [string, PathsOptions, number])[] = [
  ["one set of flags, limited", { limit: 1000 }, 20_000],
  ["flags of organizations", { multiTenant: true }, 20_000],
  ["sessions copied into cookies", { cookieCache: true }, 5_000],
  ["20 plugins that have hooks", { plugins: HOOKED, multiTenant: true }, 5_000],
];

test(`${REQUESTS} generated requests get the same bytes from both paths`, {
  timeout: 3_600_000,
}, async () => {
  const seed = Number(process.env["HALYARD_SEED"] ?? Math.floor(Math.random() * 2 ** 32));
  const figures: Record<string, Record<string, number>> = {};
  let total = 0;
  for (const [name, options, requests] of SETTINGS) {
    const paths = await startBothPaths(options);
    const usual = await invite(paths.host);
    const people = options.plugins === undefined ? usual : await inviteUnusual(paths, usual);
    const keys = await plant(paths.host, people);
    if (options.multiTenant === true) keys.push(...(await plantInOrganization(paths, people)));
    const { byStatus } = await compare(paths, people, keys, { requests, seed });
    const fast = requests - paths.passedOn();
    figures[name] = { requests, "answered without Better Auth": fast, ...byStatus };
    expect(fast).toBeGreaterThan(requests * 0.3);
    total += requests;
    await paths.close();
  }
  expect(total).toBe(REQUESTS);
  recordEvidence("flags-fast-path", {
    what: "The same generated requests to Better Auth's handler and to the fast path, one after another: evaluate, evaluate-batch, bootstrap, events and events/batch; anonymous callers, sessions, bearers, keys, organizations; valid bodies, broken ones, other media types, paths and methods; limits.",
    size: `${REQUESTS} requests, about a third of those to the fast path over a real connection to the raw Node listener.`,
    checked:
      "Status, body and headers are the same, but for times, generated ids, the seconds of Retry-After and the values of cookies. It would have failed on the first that was not, and if less than 30 % had been answered without Better Auth.",
    suite: "packages/flags/test/long/fast-path.long.test.ts",
    seed,
    figures,
  });
});

test("a signed-in user's answers stay right for a minute without the session store", {
  timeout: 300_000,
}, async () => {
  const figures: Record<string, Record<string, number>> = {};
  for (const what of ["cut", "hold"] as const) {
    figures[what === "cut" ? "line cut" : "line held"] = { ...(await expectAnswersThrough(what, 60_000)) };
  }
  recordEvidence("flags-session-outage", {
    what: "A node whose line to PostgreSQL is cut, or held so that nothing comes through and nothing fails, for 60 s, while a signed-in user goes on asking every 100 ms.",
    size: "60 s each way.",
    checked:
      "Every answer is the user's own value; the last is marked as stale. Somebody who was not seen before, and an admin's write, get 503 with Retry-After. Afterwards all is as before.",
    suite: "packages/flags/test/long/fast-path.long.test.ts",
    figures,
  });
});
