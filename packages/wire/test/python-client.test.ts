/** The client in Python runs the conformance cases for clients. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const PROGRAM = new URL("../../../examples/client-python/conformance.py", import.meta.url).pathname;
const python = spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 11))"]);

test.skipIf(python.status !== 0)("the client in Python passes every conformance case for clients", () => {
  const { stdout, stderr, status } = spawnSync("python3", [PROGRAM], { encoding: "utf8", timeout: 60_000 });
  expect(stdout.trim(), stderr).toMatch(/^\d+ passed, 0 failed$/);
  expect(status).toBe(0);
});
