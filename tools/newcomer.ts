/** Follows a page as a newcomer does: its commands and files as they stand, in an empty folder, with packed packages. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { launchChromium } from "@halyard/services";
import { findFences } from "./markdown.ts";
import { run } from "./process.ts";
import { read } from "./repository.ts";
import type { Outcome } from "./steps.ts";

export interface Walk {
  /** Path of the page. Its `sh` blocks are the commands, its blocks with `file=` the files. */
  readonly page: string;
  /** An empty folder. */
  readonly folder: string;
  /** What to install instead of a package's name: a tarball, or the name with an exact version. */
  readonly specifiers: ReadonlyMap<string, string>;
  /** Text that the program must print, and the page in the browser must log. */
  readonly expected: string;
}

const TIMEOUT_MS = 60_000;
const SETTLE_MS = 100;

/** A command that keeps running, with its output so far. */
interface Running {
  readonly child: ChildProcess;
  output: string;
  isOver: boolean;
}

/** Runs the commands of a page in their order. `node server.ts` and `npx vite` keep running until the end. */
export async function followPage({ page, folder, specifiers, expected }: Walk): Promise<Outcome> {
  const fences = findFences(read(page));
  mkdirSync(folder, { recursive: true });
  for (const { info, lines } of fences) {
    const name = /^file=([\w.-]+)$/.exec(info)?.[1];
    if (name !== undefined) writeFileSync(join(folder, name), `${lines.join("\n")}\n`);
  }
  const running: Running[] = [];
  const transcript: string[] = [];
  try {
    for (const { line: command } of fences
      .filter(({ language }) => language === "sh")
      .flatMap(({ lines }) => lines)
      .map((line) => ({ line: line.replace(/\s+#.*$/, "").trim() }))
      .filter(({ line }) => line !== "")) {
      const { ok, output } = await follow(command, { folder, specifiers, expected, running });
      transcript.push(`$ ${command}\n${output.trim()}`);
      if (!ok) return { ok: false, output: transcript.join("\n") };
    }
    return { ok: true, output: "" };
  } finally {
    for (const { child } of running) end(child);
  }
}

interface Scene extends Pick<Walk, "folder" | "specifiers" | "expected"> {
  readonly running: Running[];
}

async function follow(command: string, { folder, specifiers, expected, running }: Scene): Promise<Outcome> {
  const [program = "", ...words] = command.split(/\s+/);
  const args = words.map((word) => specifiers.get(word) ?? word);
  if (program === "npm") return run(program, [...args, ...QUIET], { cwd: folder });
  if (command === "npx vite") {
    const server = start(program, args, folder);
    running.push(server);
    const url = await until(() => /http:\/\/localhost:\d+/.exec(server.output)?.[0], server);
    if (url === undefined) return { ok: false, output: `Vite did not start.\n${server.output}` };
    return logsInBrowser(url, expected);
  }
  if (program === "node" && args[0] === "server.ts") {
    const server = start(process.execPath, args, folder);
    running.push(server);
    const port = await until(() => /\b\d{4,5}\b/.exec(server.output)?.[0], server);
    return { ok: port !== undefined, output: server.output || "The server printed no port." };
  }
  if (program !== "node") return { ok: false, output: `This command is not understood: ${command}` };
  const finished = await run(process.execPath, args, { cwd: folder, timeoutMs: TIMEOUT_MS });
  const said = finished.stdout.includes(expected) ? "" : `\nIt did not print "${expected}".`;
  return { ok: finished.ok && said === "", output: finished.output + said };
}

const QUIET = ["--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"];

function start(program: string, args: readonly string[], cwd: string): Running {
  const child = spawn(program, args, {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
    env: { ...process.env, NO_COLOR: "1" },
  });
  const running: Running = { child, output: "", isOver: false };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      running.output += text;
    });
  }
  child.on("error", ({ message }) => {
    running.output += message;
    running.isOver = true;
  });
  child.on("exit", () => {
    running.isOver = true;
  });
  return running;
}

/** Polls until there is a value, the process has ended or the time is over. */
async function until<Value>(
  find: () => Value | undefined,
  process: Pick<Running, "isOver">,
): Promise<Value | undefined> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (performance.now() < deadline && !process.isOver) {
    const value = find();
    if (value !== undefined) return value;
    await sleep(SETTLE_MS);
  }
  return find();
}

/** Opens the page and waits until it logs the text. */
async function logsInBrowser(url: string, expected: string): Promise<Outcome> {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    const lines: string[] = [];
    page.on("console", (message) => void lines.push(message.text()));
    page.on("pageerror", ({ message }) => void lines.push(message));
    await page.goto(url);
    const logged = await until(() => lines.find((line) => line.includes(expected)), { isOver: false });
    return { ok: logged !== undefined, output: `The page logged:\n${lines.join("\n")}` };
  } finally {
    await browser.close();
  }
}

function end({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Runs a file until it has ended with code 0 or listens on one of the ports, whichever comes first. */
export async function startsOrEnds(
  file: string,
  cwd: string,
  ports: readonly number[],
  args: readonly string[] = [],
): Promise<Outcome> {
  const server = start(process.execPath, [...args, file], cwd);
  try {
    const deadline = performance.now() + TIMEOUT_MS;
    while (!server.isOver && performance.now() < deadline) {
      for (const port of ports) if (await isListening(port)) return { ok: true, output: "" };
      await sleep(SETTLE_MS);
    }
    const { exitCode } = server.child;
    return { ok: exitCode === 0, output: `${file} ended with ${exitCode}.\n${server.output}` };
  } finally {
    end(server.child);
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "localhost" });
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
