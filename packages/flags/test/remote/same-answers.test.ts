/** Checks that a remote process evaluates random flags as the server does, through random changes. */
import { describe, expect, test } from "vitest";
import { Generator } from "../engine/generate.ts";
import { createRandom, seedOfRun } from "../engine/random.ts";
import { claim, createFlags, type Made } from "../generated-flags.ts";
import type { Host } from "../host.ts";
import { memoryHost } from "../memory-host.ts";
import { newAdmin, newApiKey, type Remote, serveDefinitions, startRemote } from "./kit.ts";

const FLAGS = 30;
const CONTEXTS = 8;
const CHANGES = 40;
const seed = seedOfRun();

describe(`guide/flags-remote: Same answers (HALYARD_SEED=${seed})`, () => {
  test.each([undefined, "staging", "__proto__"])(
    "in the environment %s every answer is the server's, after each change",
    async (environment) => {
      const random = createRandom(seed);
      const generator = new Generator(random);
      const host = await memoryHost({});
      const flags = await createFlags(host, generator, FLAGS);
      const { key } = await newApiKey(host, { userId: (await newAdmin(host)).id });
      const { url } = await serveDefinitions(host.auth);
      const remote = startRemote({ url, key, environment });
      await remote.flags.ready;
      await expectSame(host, remote, flags, generator, environment);
      const { api } = host.auth;
      const overrides = new Map<string, string>();
      for (let count = 0; count < CHANGES; count++) {
        const { id, name } = random.pick(flags);
        const { value } = await api.evaluateFeatureFlag({ body: { flagKey: name } });
        const kind = random.below(5);
        if (kind === 4) remote.cut();
        else if (kind === 0) await api.updateFeatureFlag({ body: { id, enabled: random.chance(0.5) } });
        else if (kind === 1)
          await api.updateFeatureFlag({ body: { id, rolloutPercentage: random.below(101) } });
        else if (kind === 2) {
          const userId = random.pick(["u1", "u2"]);
          const name = `${id} ${userId}`;
          const override = overrides.get(name);
          overrides.delete(name);
          if (override !== undefined) await api.deleteFeatureFlagOverride({ params: { id: override } });
          else
            overrides.set(
              name,
              (await api.createFeatureFlagOverride({ body: { flagId: id, userId, value } })).id,
            );
        } else {
          const conditions = {
            conditions: [{ attribute: "a", operator: "equals" as const, value: random.below(3) }],
          };
          await api.updateFeatureFlagSegment({ body: { id: `key:s${random.below(4)}`, conditions } });
        }
      }
      await expect.poll(() => remote.flags.evaluate("marker").reason).toBe("not_found");
      await api.createFeatureFlag({ body: { key: "marker", name: "M", type: "boolean", enabled: true } });
      await expect.poll(() => remote.flags.evaluate("marker").reason).not.toBe("not_found");
      await expectSame(host, remote, flags, generator, environment);
      // What arrived as changes equals what a new process gets as a whole.
      const fresh = startRemote({ url, key, environment });
      await fresh.flags.ready;
      await expectSame(host, fresh, flags, generator, environment);
      // Only lost connections.
      expect(new Set(remote.errors)).toEqual(
        new Set(remote.errors.filter((error) => /connection/i.test(error))),
      );
    },
  );
});

async function expectSame(
  { auth: { api } }: Host,
  { flags: remote }: Remote,
  flags: readonly Made[],
  generator: Generator,
  environment: string | undefined,
): Promise<void> {
  for (let count = 0; count < CONTEXTS; count++) {
    const context = claim(generator);
    const answer = await api.bootstrapFeatureFlags({
      body: {
        context,
        includeDisabled: true,
        select: ["value", "variant", "reason"],
        ...(environment && { environment }),
      },
    });
    const answers = flags.map(({ name }) => [name, remote.evaluate(name, { context })]);
    expect(Object.fromEntries(answers)).toEqual(
      Object.fromEntries(flags.map(({ name }) => [name, answer.flags[name]])),
    );
  }
}
