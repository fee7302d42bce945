import { describe, expect, test } from "vitest";
import { ATTACKS, runMemoryAttack } from "./fixtures/long/memory-attack.ts";
import { RUNTIMES } from "./fixtures/long/runtimes.ts";

describe.each(RUNTIMES)("on $name", (runtime) => {
  test.each(ATTACKS)(
    "connections that attack with %s keep at most 2 MB each, and other peers are served",
    async (attack) => {
      const figures = await runMemoryAttack(runtime, { attack, connections: 25, measureMs: 500 });
      expect(Object.keys(figures)).toHaveLength(5);
    },
    120_000,
  );
});
