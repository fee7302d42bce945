/** A failover that publishers and subscribers follow at different times, small. */
import { describe, expect, test, vi } from "vitest";
import { runStaggered, STAGGERED_BROKERS } from "./fixtures/failover/staggered.ts";

vi.setConfig({ testTimeout: 120_000 });

describe.each(STAGGERED_BROKERS)("with $name", (broker) => {
  test.each(["publishers", "subscribers"] as const)(
    "a failover that %s follow first announces every lost message and nothing else",
    async (first) => {
      const { problems, figures } = await runStaggered({
        broker,
        first,
        publishers: 2,
        subscribers: 2,
        topics: 15,
        quietMs: 100,
        splitMs: 1_000,
      });
      expect(problems).toEqual([]);
      expect(figures["messages lost in the failover"]).toBe(20);
    },
  );
});
