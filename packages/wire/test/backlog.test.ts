/** Connections that arrive while a process is busy, as when all clients of another one reconnect. */
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { spawnProgram } from "@halyard/services";
import { expect, onTestFinished, test } from "vitest";

/** More than Node's own backlog, 511. */
const CLIENTS = 1_000;

const ALLOWED = Number(
  process.platform === "linux" ? readFileSync("/proc/sys/net/core/somaxconn", "utf8") : 0,
);

test.runIf(ALLOWED > CLIENTS)(
  "a process that is busy keeps 1,000 clients waiting, and the system drops none of them",
  async () => {
    const program = await spawnProgram({
      command: process.execPath,
      args: ["--conditions=@halyard/source", new URL("fixtures/node.ts", import.meta.url).pathname],
      env: { SCENARIO: "open" },
    });
    onTestFinished(() => program.kill());
    process.kill(program.pid, "SIGSTOP");
    onTestFinished(() => void process.kill(program.pid, "SIGCONT"));
    const { port } = program;
    let connected = 0;
    const sockets = Array.from({ length: CLIENTS }, (): Socket => {
      const socket = connect(port, "127.0.0.1", () => connected++);
      socket.on("error", () => undefined);
      return socket;
    });
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    await expect.poll(() => connected, { timeout: 10_000 }).toBe(CLIENTS);
  },
);
