/** While the session store does not respond, recently verified callers are served, and others are refused. */
import { describe, expect, test } from "vitest";
import { expectAnswersThrough, plantFor, startOutageHost } from "./outage-host.ts";

describe.each([
  ["is cut", "cut"],
  ["hangs", "hold"],
] as const)("while the connection to the session store %s", (_how, what) => {
  test("recently verified callers get their values, marked as stale; others and administration are refused", {
    timeout: 90_000,
  }, async () => {
    await expectAnswersThrough(what, 7000);
  });

  test("the same holds without withFeatureFlags", { timeout: 90_000 }, async () => {
    const outage = await startOutageHost({ flags: { fastPath: false } });
    const { host, node, line } = outage;
    const [person, unseen] = [await host.person("person"), await host.person("unseen")];
    await outage.age();
    const key = await plantFor(outage, person);
    await node.ask("evaluate", { flagKey: key }, person.headers);
    line[what]();
    const first = await node.ask("evaluate", { flagKey: key }, person.headers);
    expect(first).toMatchObject({
      status: 200,
      isFast: false,
      json: { value: "mine", metadata: { stale: true } },
    });
    expect(await node.ask("evaluate", { flagKey: key }, unseen.headers)).toMatchObject({ status: 503 });
    line.restore();
    await expect
      .poll(async () => (await node.ask("evaluate", { flagKey: key }, unseen.headers)).status, {
        timeout: 20_000,
      })
      .toBe(200);
  });
});
