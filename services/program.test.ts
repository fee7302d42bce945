import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { bunPath, freePort, launchChromium, spawnProgram } from "./index.ts";
import { portIsFree } from "./ports.ts";
import { processStart } from "./process-table.ts";
import { waitFor } from "./wait.ts";

const SERVER = `
const server = require("node:http").createServer((_, response) => response.end(process.env.GREETING));
server.listen(0, "127.0.0.1", () => {
  console.error("listening");
  console.log(JSON.stringify({ port: server.address().port }));
});
`;

test.each([
  { runtime: "Node", command: process.execPath },
  { runtime: "Bun", command: bunPath() },
])("a server program on $runtime is ready when spawnProgram resolves, and stops", async ({ command }) => {
  const program = await spawnProgram({ command, args: ["-e", SERVER], env: { GREETING: "hello" } });
  const response = await fetch(`http://127.0.0.1:${program.port}`);
  expect(await response.text()).toBe("hello");
  expect(program.output()).toContain("listening");
  await program.stop();
  expect(processStart(program.pid)).toBeUndefined();
});

test("a program that ignores SIGTERM is killed", async () => {
  const stubborn = `process.on("SIGTERM", () => {}); ${SERVER}`;
  const program = await spawnProgram({ command: process.execPath, args: ["-e", stubborn] });
  await program.stop();
  expect(await program.exited).toBe(null);
});

test("a program that ends early is reported with its output", async () => {
  const starting = spawnProgram({
    command: process.execPath,
    args: ["-e", 'console.error("no luck"); process.exit(3)'],
  });
  await expect(starting).rejects.toThrow(/code 3 before it was ready.*no luck/s);
});

test("a program that is not ready in time is killed and reported", async () => {
  // A shell, which has printed its id long before the timeout, also on a busy machine.
  const starting = spawnProgram({
    command: "sh",
    args: ["-c", "echo $$; exec sleep 1000"],
    readyTimeoutMs: 2000,
  });
  const failure = await starting.then(
    () => "ready",
    (error: Error) => error.message,
  );
  expect(failure).toContain("within 2000 ms");
  const pid = Number(/^\d+$/m.exec(failure)?.[0]);
  expect(pid, failure).toBeGreaterThan(0);
  expect(processStart(pid)).toBeUndefined();
});

test("a program that does not exist is reported by name", async () => {
  await expect(spawnProgram({ command: "no-such-program" })).rejects.toThrow("Cannot start no-such-program");
});

test("a child process ends with its parent, even when the parent is killed", async () => {
  const library = fileURLToPath(new URL("./index.ts", import.meta.url));
  const parent = await spawnProgram({
    command: process.execPath,
    args: [
      "--input-type=module",
      "-e",
      `import { startRedis } from ${JSON.stringify(library)};
       const { port, pid } = await startRedis();
       console.log(JSON.stringify({ port, pid }));
       setInterval(() => {}, 1000);`,
    ],
    readyTimeoutMs: 30_000,
  });
  const pid = Number(/"pid":(\d+)/.exec(parent.output())?.[1]);
  expect(processStart(pid)).toBeDefined();
  process.kill(parent.pid, "SIGKILL");
  await waitFor(
    async () => {
      if (processStart(pid) !== undefined) throw new Error("the server still runs");
    },
    { what: "the server to die", timeoutMs: 10_000 },
  );
  expect(await portIsFree(parent.port)).toBe(true);
}, 60_000);

test("a child process does not keep its parent alive", async () => {
  const library = fileURLToPath(new URL("./index.ts", import.meta.url));
  const parent = await spawnProgram({
    command: process.execPath,
    args: [
      "--input-type=module",
      "-e",
      `import { spawnProgram, startRedis } from ${JSON.stringify(library)};
       await spawnProgram({ command: process.execPath, args: ["-e", ${JSON.stringify(SERVER)}] });
       const { port } = await startRedis();
       console.log(JSON.stringify({ port }));`,
    ],
    readyTimeoutMs: 30_000,
  });
  expect(await parent.exited).toBe(0);
}, 60_000);

test("a free port is not returned twice", async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, freePort));
  expect(new Set(ports).size).toBe(50);
});

test("Chromium opens a page", async () => {
  const browser = await launchChromium();
  const page = await browser.newPage();
  await page.setContent("<title>Halyard</title>");
  expect(await page.title()).toBe("Halyard");
  await browser.close();
});
