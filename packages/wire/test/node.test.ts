import { spawnProgram } from "@halyard/services";
import { adapterContract } from "./contract/adapter.ts";

adapterContract("Node", async (scenario) => {
  const program = await spawnProgram({
    command: process.execPath,
    args: ["--conditions=@halyard/source", fixture("node.ts")],
    env: { SCENARIO: scenario },
  });
  return { url: `ws://127.0.0.1:${program.port}`, stop: program.kill, process: program };
});

function fixture(name: string): string {
  return new URL(`fixtures/${name}`, import.meta.url).pathname;
}
