// Chromium, for the tests that need a real browser.
import type { Browser } from "playwright-core";
import { findProgram, isExecutable } from "./machine.ts";
import { run } from "./run.ts";
import { ServiceError } from "./server.ts";
import { type Environment, setting } from "./settings.ts";
import type { Tool } from "./tool.ts";

const PROGRAMS = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

// Without a sandbox it also runs as root. The other flags disable its network requests, which a test machine may forbid.
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The path of the browser: `CHROMIUM_PATH`, otherwise the installed one. */
export function chromiumPath(env: Environment = process.env): string {
  const given = setting(env, "CHROMIUM_PATH");
  if (given !== undefined && isExecutable(given)) return given;
  if (given !== undefined) {
    throw new ServiceError(
      `CHROMIUM_PATH is ${given}, which is not a program. Remedy: correct it, or unset it to use the installed one.`,
    );
  }
  const found = PROGRAMS.map((name) => findProgram(name)).find((path) => path !== undefined);
  if (found !== undefined) return found;
  throw new ServiceError(
    `Chromium is not installed: none of ${PROGRAMS.join(", ")} is in PATH.\n` +
      `Remedy: "npm run services -- up chromium" on Debian as root, or install Chromium or Chrome and set ` +
      `CHROMIUM_PATH to its program.`,
  );
}

export const chromium: Tool = {
  name: "chromium",
  packages: ["chromium", "fonts-liberation"],
  pathVariable: "CHROMIUM_PATH",
  async find(env) {
    const path = chromiumPath(env);
    const said = await run({ command: path, args: ["--version"] });
    const provider = setting(env, "CHROMIUM_PATH") === undefined ? "installed" : "given by CHROMIUM_PATH";
    return { where: path, version: /[\d.]+/.exec(said)?.[0] ?? "unknown", provider };
  },
};

/** Starts the browser without a window, controlled by Playwright. Close it when done. */
export async function launchChromium(more: readonly string[] = []): Promise<Browser> {
  const playwright = await import("playwright-core");
  const args = [...ARGUMENTS, ...more];
  return playwright.chromium.launch({ executablePath: chromiumPath(), headless: true, args });
}
