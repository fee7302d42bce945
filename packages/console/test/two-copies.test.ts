/** A console of one copy of the packages on an auth instance of another copy, as bundlers combine them. */
import type * as consolePackage from "@halyard/console";
import { expect, test } from "vitest";
import type { Host } from "../../flags/test/host.ts";
import { memoryHost } from "../../flags/test/memory-host.ts";
import { loadSecondCopy } from "../../flags/test/second-copy.ts";
import { createConsole } from "../src/index.ts";
import { askConsole, BASE } from "./console-host.ts";

const copy = await loadSecondCopy<typeof consolePackage>("@halyard/console");

function openOther(host: Host) {
  expect(copy.createConsole).not.toBe(createConsole);
  return askConsole(host, copy.createConsole(host.auth, { basePath: BASE }));
}

test("every operation of the console works, with the statuses of errors", async () => {
  const host = await memoryHost();
  const { api, own } = openOther(host);
  const [admin, user] = [await host.person("admin", "admin"), await host.person("user")];
  const flags = "feature-flags/admin/flags";
  expect((await own("session", {}, admin)).json.user.id).toBe(admin.id);
  expect((await own("people", {}, admin)).json.people.length).toBe(2);
  const made = await api(flags, {
    as: admin,
    method: "POST",
    body: { key: "k", name: "N", type: "boolean" },
  });
  expect(made.status).toBe(201);
  const path = `${flags}/${made.json.id}`;
  const rename = (version: number) =>
    api(path, { as: admin, method: "PATCH", body: { name: "M" }, headers: { "if-match": `"${version}"` } });
  expect([(await rename(1)).status, (await rename(1)).status]).toEqual([200, 409]);
  const invalid = { as: admin, method: "PATCH", body: { rolloutPercentage: 101 } };
  expect((await api(path, invalid)).json.code).toBe("VALIDATION_ERROR");
  expect((await api(`${flags}/key:missing`, { as: admin })).json.code).toBe("FLAG_NOT_FOUND");
  expect([(await api(flags)).status, (await api(flags, { as: user })).status]).toEqual([401, 403]);
  expect([(await own("people", {})).status, (await own("people", {}, user)).status]).toEqual([401, 403]);
  expect((await own("no-such-operation", {}, admin)).status).toBe(404);
  await host.call("POST", "/sign-out", { as: admin, body: {} });
  expect((await api(flags, { as: admin })).status).toBe(401);
});

test("the limits of the auth instance count its requests as the console's", async () => {
  const host = await memoryHost({
    rateLimit: { enabled: true },
    flags: { rateLimit: { rules: { console: { max: 3, windowSeconds: 60 } } } },
  });
  const { api } = openOther(host);
  const as = await host.person("admin", "admin");
  const statuses: number[] = [];
  for (let at = 0; at < 4; at++) statuses.push((await api("feature-flags/admin/flags", { as })).status);
  expect(statuses).toEqual([200, 200, 200, 429]);
  expect((await host.call("GET", "/feature-flags/admin/flags", { as })).status).toBe(200);
});
