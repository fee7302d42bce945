import { bunPath, spawnProgram } from "@halyard/services";
import { expect, onTestFinished, test } from "vitest";
import { greeted } from "./contract/adapter/peer.ts";
import { adapterContract } from "./contract/adapter.ts";
import type { ScenarioName } from "./fixtures/scenarios.ts";

async function start(scenario: ScenarioName) {
  const program = await spawnProgram({
    command: bunPath(),
    args: ["--conditions=@halyard/source", fixture("bun.ts")],
    env: { SCENARIO: scenario },
  });
  return { url: `ws://127.0.0.1:${program.port}`, stop: program.kill, process: program };
}

adapterContract("Bun", start);

test("Bun: a login may take longer than the time after which Bun ends other silent requests", async () => {
  const server = await start("unhurried");
  onTestFinished(server.stop);
  expect(await (await greeted(server.url)).request("GREET", { name: "Ada" })).toBeDefined();
});

function fixture(name: string): string {
  return new URL(`fixtures/${name}`, import.meta.url).pathname;
}
