/** A console of one copy of the packages on an auth instance of another copy, as bundlers combine them. */
import type * as consolePackage from "@halyard/console";
import type * as flagsPackage from "@halyard/flags";
import { expect, test } from "vitest";
import type { ConsoleAnswers } from "../../flags/src/model/console.ts";
import type { Host } from "../../flags/test/host.ts";
import { memoryHost } from "../../flags/test/memory-host.ts";
import { loadSecondCopy } from "../../flags/test/second-copy.ts";
import { createConsole } from "../src/index.ts";
import { askConsole, BASE } from "./console-host.ts";

const copy = await loadSecondCopy<typeof consolePackage & typeof flagsPackage>(
  "@halyard/console",
  "@halyard/flags",
);

function openOther(host: Host) {
  expect(copy.createConsole).not.toBe(createConsole);
  return askConsole(host, copy.createConsole(host.auth, { basePath: BASE }));
}

const flags = "feature-flags/admin/flags";

test("every operation of the console's own answers, and those that need a permission are 401 and 403 without it", async () => {
  const host = await memoryHost();
  const { own } = openOther(host);
  const [admin, user] = [await host.person("admin", "admin"), await host.person("user")];
  const made = await host.createFlag({ key: "k", name: "N", type: "boolean" }, admin);
  expect((await own("session", {}, admin)).json.user.id).toBe(admin.id);
  const key = (await own("create-key", { name: "ci", actions: ["read"] }, admin)).json;
  const bodies: Record<Exclude<keyof ConsoleAnswers, "session">, object> = {
    revision: {},
    log: {},
    people: {},
    person: { userId: user.id },
    activity: { flagId: made.json.id },
    evaluations: { flagIds: [made.json.id] },
    "missing-flags": {},
    "verify-audit": {},
    "export-audit": {},
    processes: {},
    keys: {},
    "create-key": { name: "other", actions: ["read"] },
    "delete-key": { id: key.id },
  };
  for (const [name, body] of Object.entries(bodies)) {
    const statuses = [await own(name, body), await own(name, body, user), await own(name, body, admin)];
    expect([name, ...statuses.map(({ status }) => status)]).toEqual([name, 401, 403, 200]);
  }
  expect((await own("log", {}, admin)).json).toMatchObject({
    entries: [{ action: "flag.created" }],
    names: { [admin.id]: "admin" },
  });
  const { keys } = (await own("keys", {}, admin)).json;
  expect(keys.map(({ name }: { name: string }) => name)).toEqual(["other"]);
});

test("a key that the console made is accepted until the console deletes it", async () => {
  const host = await memoryHost();
  const { own } = openOther(host);
  const admin = await host.person("admin", "admin");
  const { json } = await own("create-key", { name: "ci", actions: ["read"] }, admin);
  const list = () => host.call("GET", "/feature-flags/admin/flags", { headers: { "x-api-key": json.key } });
  expect((await list()).status).toBe(200);
  expect((await own("delete-key", { id: json.id }, admin)).status).toBe(200);
  expect((await list()).status).toBe(401);
  expect((await own("delete-key", { id: json.id }, admin)).status).toBe(404);
});

test("after closeFeatureFlags of the other copy, the auth instance is not ready and its console still answers", async () => {
  const host = await memoryHost();
  const { own } = openOther(host);
  const admin = await host.person("admin", "admin");
  await copy.closeFeatureFlags(host.auth);
  expect((await host.call("GET", "/feature-flags/ready")).status).toBe(503);
  expect((await own("session", {}, admin)).status).toBe(200);
});

test("flags are created and changed, with the statuses of errors", async () => {
  const host = await memoryHost();
  const { api, own } = openOther(host);
  const [admin, user] = [await host.person("admin", "admin"), await host.person("user")];
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
