// A Cloudflare worker under test: bundled from its TypeScript entry and run by the real workerd, through miniflare.
import { build } from "esbuild";
import { Miniflare } from "miniflare";

export interface WorkerOptions {
  /** The worker's entry file. */
  readonly entry: string;
  /** Durable Object bindings: the name in `env`, and the class the entry exports. */
  readonly durableObjects?: Readonly<Record<string, string>>;
  /** Gives the worker the modules of Node that the platform has. */
  readonly nodeModules?: boolean;
}

export interface Worker {
  /** Where the worker listens, as `ws://…`. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Bundles and starts a worker on a free port; resolves once it serves. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const bundle = await build({
    entryPoints: [options.entry],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2023",
    conditions: ["@halyard/source", "workerd", "worker", "browser"],
    external: ["cloudflare:*", ...(options.nodeModules === true ? ["node:*"] : [])],
  });
  const [file] = bundle.outputFiles;
  if (file === undefined) throw new Error(`Bundling ${options.entry} gave no output.`);
  const durableObjects = Object.fromEntries(
    Object.entries(options.durableObjects ?? {}).map(([binding, className]) => [
      binding,
      { className, useSQLite: true },
    ]),
  );
  const miniflare = new Miniflare({
    // Named one by one, so that miniflare does not look for others: what is imported by a name made up while running
    // cannot be in the bundle.
    modules: [{ type: "ESModule", path: "worker.mjs", contents: file.text }],
    compatibilityDate: "2026-05-01",
    host: "127.0.0.1",
    port: 0,
    // Without this, miniflare asks the platform's servers for request properties.
    cf: false,
    durableObjects,
    ...(options.nodeModules === true && { compatibilityFlags: ["nodejs_compat"] }),
  });
  const url = await miniflare.ready;
  return { url: `ws://${url.host}`, stop: () => miniflare.dispose() };
}
