// A server program under test in its own process. It prints one JSON line with its port when it is ready.
import { Socket } from "node:net";
import { spawnChild } from "./child.ts";

export interface ProgramOptions {
  /** The program to run: `process.execPath`, `bunPath()` or a path. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to this process's environment. `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Timeout for the line with the port, in ms. Default: 60,000, because a busy machine is many times slower. */
  readonly readyTimeoutMs?: number;
}

export interface Program {
  /** The port in the program's line `{"port":…}`. */
  readonly port: number;
  readonly pid: number;
  /** The exit code, or null when a signal ended it. */
  readonly exited: Promise<number | null>;
  /** Its output so far, standard output and standard error in order of arrival. */
  output(): string;
  /** Sends SIGTERM, and SIGKILL after 5 seconds. Resolves when it has ended. */
  stop(): Promise<void>;
  /** Sends SIGKILL. Resolves when it has ended. */
  kill(): Promise<void>;
  /** Sends SIGSTOP: its connections stay open without responses. */
  pause(): void;
  /** Sends SIGCONT. */
  resume(): void;
}

function portIn(line: string): number | undefined {
  if (!line.trimStart().startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== "object" || value === null || !("port" in value)) return undefined;
    return typeof value.port === "number" ? value.port : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Starts a program and resolves once it has printed a line such as `{"port":4000}` to standard output.
 *
 * The program ends with this process and does not keep it alive.
 */
export async function spawnProgram(options: ProgramOptions): Promise<Program> {
  const { command, args = [], readyTimeoutMs = 60_000 } = options;
  const child = await spawnChild(
    { command, args, cwd: options.cwd, env: { ...process.env, ...options.env } },
    ["ignore", "pipe", "pipe"],
  );
  const title = [command, ...args].join(" ");
  let output = "";
  const { stdout, stderr } = child.process;
  if (stdout === null || stderr === null) throw new Error(`${title} was started without pipes.`);
  for (const stream of [stdout, stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }

  const port = await new Promise<number>((resolve, reject) => {
    let unread = "";
    const timer = setTimeout(
      () => fail(`printed no line {"port":…} within ${readyTimeoutMs} ms`),
      readyTimeoutMs,
    );
    function fail(what: string): void {
      clearTimeout(timer);
      void child.kill().then(() => reject(new Error(`${title} ${what}. Its output:\n${output || "(none)"}`)));
    }
    function ended(code: number | null, signal: NodeJS.Signals | null): void {
      fail(`ended with ${signal ?? `code ${code}`} before it was ready`);
    }
    function findPort(text: string): void {
      const lines = (unread + text).split("\n");
      unread = lines.pop() ?? "";
      const found = lines.map(portIn).find((value) => value !== undefined);
      if (found === undefined) return;
      clearTimeout(timer);
      child.process.off("close", ended);
      stdout?.off("data", findPort);
      resolve(found);
    }
    child.process.once("close", ended);
    stdout.on("data", findPort);
  });
  // From here on only the caller's work keeps the process alive.
  for (const stream of [stdout, stderr]) if (stream instanceof Socket) stream.unref();

  return {
    port,
    pid: child.pid,
    exited: child.exited,
    output: () => output,
    stop: () => child.stop(),
    kill: () => child.kill(),
    pause: child.pause,
    resume: child.resume,
  };
}
