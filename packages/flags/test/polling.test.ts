/** The option `poll`: how a process notices changes of other processes. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { type HostOptions, startHost } from "./host.ts";
import { flag, memoryDatabase } from "./memory-host.ts";

/** Two applications on one database; the second has read its flags, and then the first changes one. */
async function changeElsewhere(
  options: Pick<HostOptions, "flags" | "bounds">,
): Promise<{ read(): Promise<unknown>; metrics(): Promise<string> }> {
  const database = memoryDatabase();
  const first = await startHost({ database });
  onTestFinished(first.close);
  const second = await startHost({ database, migrate: false, ...options });
  onTestFinished(second.close);
  const read = async () => (await second.auth.api.evaluateFeatureFlag({ body: { flagKey: "k" } })).value;
  const { id } = await first.auth.api.createFeatureFlag({
    body: flag({ enabled: true, defaultValue: "old" }),
  });
  expect(await read()).toBe("old");
  await first.auth.api.updateFeatureFlag({ body: { id, defaultValue: "new" } });
  return { read, metrics: () => second.auth.api.getFeatureFlagsMetrics() };
}

test("poll: a change of another process arrives by polling [Decisions: Reads]", async () => {
  const { read, metrics } = await changeElsewhere({ bounds: { pollMs: 20 } });
  // Metrics do not read the database, while an evaluation would trigger a check.
  await vi.waitFor(async () => expect(await metrics()).toMatch(/^halyard_flags_revision 2$/m), 10_000);
  expect(await read()).toBe("new");
});

test("poll false: there is no polling, and an evaluation triggers the check [Decisions: Reads]", async () => {
  const { read } = await changeElsewhere({ flags: { poll: false } });
  // Longer than the default interval.
  await sleep(700);
  expect(await read()).toBe("old");
  await vi.waitFor(async () => expect(await read()).toBe("new"), 10_000);
});
