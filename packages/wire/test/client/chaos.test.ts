import { bunPath } from "@halyard/services";
import { expect, test } from "vitest";
import { seedOf } from "../fixtures/random.ts";
import { runChaos } from "./chaos.ts";

test.each([
  ["Node", () => process.execPath],
  ["Bun", bunPath],
])(
  "through a fault-injecting proxy to a server on %s, each request settles once with its own response, and all clients reconnect when the network recovers",
  async (_platform, command) => {
    const figures = await runChaos({
      command: command(),
      clients: 40,
      durationMs: 6_000,
      seed: seedOf("chaos"),
    });
    expect(figures["requests, each settled once"]).toBeGreaterThan(40);
  },
  60_000,
);
