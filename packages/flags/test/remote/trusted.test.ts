/** Checks rules on trusted attributes, which a remote process cannot look up. */
import { describe, expect, test, vi } from "vitest";
import { flag, memoryHost } from "../memory-host.ts";
import { newAdmin, newApiKey, serveDefinitions, startRemote } from "./kit.ts";

describe("guide/flags-remote: Trusted attributes", () => {
  test("a rule on an attribute that the context lacks is skipped and named once, in either polarity", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const host = await memoryHost({
      flags: { trusted: { user: ["plan"] } },
      fields: { user: { plan: { type: "string", required: false, input: false } } },
    });
    const { api } = host.auth;
    for (const operator of ["equals", "not_equals"] as const) {
      const { id } = await api.createFeatureFlag({
        body: flag({ key: operator, enabled: true, defaultValue: "d" }),
      });
      const conditions = { conditions: [{ attribute: "user.plan", operator, value: "pro" }] };
      await api.createFeatureFlagRule({ body: { flagId: id, priority: 1, conditions, value: "rule" } });
    }
    const { url } = await serveDefinitions(host.auth);
    const { key } = await newApiKey(host, { userId: (await newAdmin(host)).id });
    const { flags } = startRemote({ url, key });
    await flags.ready;
    const read = (context: object) =>
      ["equals", "not_equals"].map((name) => flags.getValue(name, { context }));
    expect(read({ userId: "ada" })).toEqual(["d", "d"]);
    expect(read({ userId: "ada" })).toEqual(["d", "d"]);
    expect(read({ userId: "ada", user: { plan: "pro" } })).toEqual(["rule", "d"]);
    expect(read({ userId: "ada", user: { plan: "free" } })).toEqual(["d", "rule"]);
    const warned = warn.mock.calls.map(([text]) => String(text));
    expect(warned).toHaveLength(2);
    expect(warned[0]).toContain("Pass them in the context");
  });
});
