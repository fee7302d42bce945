// A Cloudflare worker under test: bundled from its TypeScript entry and run by the real workerd, through miniflare.
import { build } from "esbuild";
import { Miniflare } from "miniflare";

export interface WorkerOptions {
  /** The worker's entry file. */
  readonly entry: string;
  /** Durable Object bindings: the name in `env`, and the class the entry exports. */
  readonly durableObjects?: Readonly<Record<string, string>>;
  /** As of when the platform behaves. A date that the engine in use knows. */
  readonly compatibilityDate?: string;
  /** Gives the worker the modules of Node that the platform has. */
  readonly nodeModules?: boolean;
  /** Lets `evict` put Durable Objects to sleep. */
  readonly evictable?: boolean;
}

export interface Worker {
  /** Where the worker listens, as `ws://…`. */
  readonly url: string;
  /**
   * Has an object hibernate now, as it would after a while without events: its sockets stay, its instance goes. Waits
   * until the object has nothing to do; resolves to false when that takes longer than `withinMs`. With "close" its
   * sockets go too, without a word to it.
   */
  evict(
    binding: string,
    objectName: string,
    withinMs?: number,
    webSockets?: "hibernate" | "close",
  ): Promise<boolean>;
  stop(): Promise<void>;
}

const EVICT_PATH = "/.evict";
const EVICT_WITHIN_MS = 5_000;

/** Stands before the worker: asks the runtime itself, which tells nobody but a worker's code. */
const EVICTING_ENTRY = `
import unsafe from "workerd:unsafe";
import worker from "./worker.mjs";
export * from "./worker.mjs";

async function evict(stub, withinMs, webSockets) {
  const asleep = unsafe.evict(stub, { webSockets }).then(
    () => true,
    (error) => {
      if (error.message.includes("not currently running")) return true;
      throw error;
    },
  );
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(() => resolve(false), withinMs)));
  const done = await Promise.race([asleep, late]).finally(() => clearTimeout(timer));
  if (!done) asleep.catch(() => undefined);
  return done;
}

export default {
  ...worker,
  async fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== "${EVICT_PATH}") return worker.fetch(request, env, ctx);
    const stub = env[searchParams.get("binding")].getByName(searchParams.get("name"));
    return Response.json(await evict(stub, Number(searchParams.get("within")), searchParams.get("sockets")));
  },
};
`;
const EVICTING_MODULE = { type: "ESModule", path: "evicting.mjs", contents: EVICTING_ENTRY } as const;

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
    modules: [
      ...(options.evictable === true ? [EVICTING_MODULE] : []),
      { type: "ESModule", path: "worker.mjs", contents: file.text },
    ],
    compatibilityDate: options.compatibilityDate ?? "2026-05-01",
    host: "127.0.0.1",
    port: 0,
    // Without this, miniflare asks the platform's servers for request properties.
    cf: false,
    durableObjects,
    compatibilityFlags: [
      ...(options.nodeModules === true ? ["nodejs_compat"] : []),
      ...(options.evictable === true ? ["unsafe_module"] : []),
    ],
  });
  const url = await miniflare.ready;
  return {
    url: `ws://${url.host}`,
    async evict(binding, name, withinMs = EVICT_WITHIN_MS, sockets = "hibernate") {
      const query = new URLSearchParams({ binding, name, within: String(withinMs), sockets });
      const response = await fetch(new URL(`${EVICT_PATH}?${query}`, url));
      if (!response.ok) throw new Error(`The object was not evicted: ${await response.text()}`);
      return (await response.json()) as boolean;
    },
    stop: () => miniflare.dispose(),
  };
}
