// A Cloudflare worker under test, bundled from its TypeScript entry and run by the real workerd through miniflare.
import { build } from "esbuild";
import { Miniflare } from "miniflare";

export interface WorkerOptions {
  /** The worker's entry file. */
  readonly entry: string;
  /** Durable Object bindings: the name in `env`, and the class that the entry exports. */
  readonly durableObjects?: Readonly<Record<string, string>>;
  /** The compatibility date. The engine must support it. */
  readonly compatibilityDate?: string;
  /** Gives the worker the Node modules of the platform. */
  readonly nodeModules?: boolean;
  /** Lets `evict` make Durable Objects hibernate. */
  readonly evictable?: boolean;
}

export interface Worker {
  /** The worker's URL, as `ws://…`. */
  readonly url: string;
  /**
   * Makes an object hibernate now, as it would after some time without events: its sockets stay, its instance ends. Waits
   * until the object is idle. Resolves to false when that takes longer than `withinMs`. With "close" its sockets are
   * closed too, without notifying it.
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

/** Runs in front of the worker, because the runtime answers only to a worker's code. */
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

/** Bundles and starts a worker on a free port. Resolves once it serves. */
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
    // Listed one by one, so that miniflare does not search for others: modules with names computed at run time cannot be
    // in the bundle.
    modules: [
      ...(options.evictable === true ? [EVICTING_MODULE] : []),
      { type: "ESModule", path: "worker.mjs", contents: file.text },
    ],
    compatibilityDate: options.compatibilityDate ?? "2026-05-01",
    host: "127.0.0.1",
    port: 0,
    // Without this, miniflare requests properties from the platform's servers.
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
