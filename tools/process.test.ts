import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { run } from "./process.ts";

const node = (code: string, timeoutMs?: number): ReturnType<typeof run> =>
  run(process.execPath, ["-e", code], timeoutMs === undefined ? {} : { timeoutMs });

describe("a command", () => {
  test("returns what it wrote to stdout and stderr", async () => {
    const finished = await node("console.log('out'); console.error('err')");
    expect(finished).toMatchObject({ ok: true, stdout: "out\n" });
    expect(finished.output).toContain("err\n");
  });

  test("fails with a non-zero exit code", async () => {
    expect((await node("process.exit(3)")).ok).toBe(false);
  });

  test("that does not exist fails, and the output names it", async () => {
    const { ok, output } = await run("halyard-no-such-command", []);
    expect(ok).toBe(false);
    expect(output).toContain("halyard-no-such-command");
  });

  test("gets an empty stdin", async () => {
    expect((await node("process.stdin.on('end', () => console.log('end')).resume()")).stdout).toBe("end\n");
  });

  test("that hangs is ended together with the processes it started", async () => {
    const folder = mkdtempSync(join(tmpdir(), "halyard-process-"));
    const file = join(folder, "pid");
    const child = `require("fs").writeFileSync(${JSON.stringify(file)}, String(process.pid)); setInterval(() => {}, 1e6)`;
    const parent = `require("child_process").spawnSync(process.execPath, ["-e", ${JSON.stringify(child)}])`;
    // Long enough for two processes to start on a busy machine.
    const { ok, output } = await node(parent, 10_000);
    const pid = Number(readFileSync(file, "utf8"));
    rmSync(folder, { recursive: true });
    expect(ok).toBe(false);
    expect(output).toContain("Stopped: still running after 10 s:");
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), { timeout: 10_000 });
  }, 30_000);
});
