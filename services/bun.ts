// Bun, from the development dependencies.
import { fileURLToPath } from "node:url";
import { isExecutable } from "./machine.ts";
import { run } from "./run.ts";
import { ServiceError } from "./server.ts";
import type { Tool } from "./tool.ts";

/** The path of this repository's Bun. */
export function bunPath(): string {
  const path = fileURLToPath(new URL("../node_modules/.bin/bun", import.meta.url));
  if (!isExecutable(path)) throw new ServiceError(`Bun is not installed. Remedy: run "npm ci".`);
  return path;
}

export const bun: Tool = {
  name: "bun",
  packages: [],
  async find() {
    const path = bunPath();
    try {
      const version = await run({ command: path, args: ["--version"] });
      return { where: path, version: version.trim(), provider: "npm" };
    } catch (cause) {
      throw new ServiceError(
        `Bun does not run: ${cause instanceof Error ? cause.message : cause}\n` +
          `Remedy: run "npm ci" with install scripts allowed, because the install script adds the program.`,
        { cause },
      );
    }
  },
};
