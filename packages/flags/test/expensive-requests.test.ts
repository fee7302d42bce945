/** Checks that a request for expensive flags lets other requests run in between. The suite in `long` has the full size. */
import { expect, test } from "vitest";
import { memoryHost, newKey } from "./memory-host.ts";
import { wrapHost } from "./wrapped-host.ts";

const OPTIONS = { flags: { multiTenant: true, rateLimit: false as const } };
const FLAGS = 25;
/** About a millisecond for each flag. */
const CONDITIONS = Array.from({ length: 15 }, () => ({
  attribute: "a",
  operator: "contains" as const,
  value: `${"a".repeat(255)}b`,
}));

test.each(["bootstrap", "evaluate-batch"])(
  "other requests are answered while an expensive %s is evaluated, on both paths",
  async (path) => {
    const host = await memoryHost(OPTIONS);
    const owner = await host.person("owner");
    const organizationId = await host.organization(owner, "expensive");
    const flagKeys: string[] = [];
    for (let at = 0; at < FLAGS; at++) {
      const key = newKey();
      const { id } = await host.auth.api.createFeatureFlag({
        body: { key, name: "N", type: "boolean", enabled: true, organizationId },
      });
      const conditions = { operator: "OR" as const, conditions: CONDITIONS };
      await host.auth.api.createFeatureFlagRule({
        body: { flagId: id, priority: 1, conditions, value: true },
      });
      flagKeys.push(key);
    }
    const victim = await host.person("victim");
    const { ask } = await wrapHost(host, OPTIONS);
    const attributes = { a: "a".repeat(4_096) };
    const expensive = { context: { attributes }, ...(path === "evaluate-batch" && { flagKeys }) };
    const ordinary = async (to: string, body: object, headers: Record<string, string>) => {
      const response = await host.auth.handler(
        new Request(`${host.origin}/api/auth/feature-flags/${to}`, {
          method: "POST",
          headers: { ...headers, origin: host.origin, "content-type": "application/json" },
          body: JSON.stringify(body),
        }),
      );
      return { status: response.status, json: (await response.json()) as Record<string, unknown> };
    };
    for (const send of [ask, ordinary]) {
      // Both callers are known and their flags loaded.
      await send(path, expensive, owner.headers);
      await send("evaluate", { flagKey: "k" }, victim.headers);
      const order: string[] = [];
      const [slow] = await Promise.all([
        send(path, expensive, owner.headers).finally(() => order.push("expensive")),
        send("evaluate", { flagKey: "k" }, victim.headers).finally(() => order.push("other")),
      ]);
      expect(order).toEqual(["other", "expensive"]);
      expect([slow.status, Object.keys(slow.json["flags"] as object)]).toEqual([200, flagKeys.sort()]);
    }
  },
);
