import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { bunPath } from "@halyard/services";
import { expect, test } from "vitest";
import { libraries } from "../spec/libraries.ts";
import { startConductor } from "./conductor.ts";
import { suite } from "./suite/index.ts";

test("the client passes its suite on Bun, with Zod and with Valibot", async () => {
  const conductor = await startConductor();
  const program = new URL("../fixtures/client-suite.ts", import.meta.url).pathname;
  try {
    const { stdout } = await promisify(execFile)(
      bunPath(),
      ["--conditions=@halyard/source", program, conductor.url],
      {
        timeout: 110_000,
      },
    );
    const { ran, failures } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
    expect(failures).toEqual({});
    expect(ran).toBe(suite.length * libraries.length);
  } finally {
    await conductor.stop();
  }
}, 120_000);
