// workerd, the engine of Cloudflare Workers, as Miniflare includes it.
import { createRequire } from "node:module";
import { run } from "./run.ts";
import { reasonOf, ServiceError } from "./server.ts";
import type { Tool } from "./tool.ts";

export const workerd: Tool = {
  name: "workerd",
  packages: [],
  async find() {
    try {
      const miniflare = createRequire(import.meta.url).resolve("miniflare");
      const engine: { default: string } = createRequire(miniflare)("workerd");
      const version = await run({ command: engine.default, args: ["--version"] });
      return {
        where: engine.default,
        version: version.replace("workerd", "").trim(),
        provider: "npm, by miniflare",
      };
    } catch (cause) {
      throw new ServiceError(
        `workerd does not run: ${reasonOf(cause)}\nRemedy: run "npm ci" with install scripts allowed.`,
        { cause },
      );
    }
  },
};
