/** `createRemoteFlags`: connects the connection, the file and the reads. */
import { later } from "@halyard/base";
import { WsError } from "@halyard/wire";
import type { JsonValue } from "../../engine/json.ts";
import type { FlagDeclarations } from "../../model/declared.ts";
import { findMisfit } from "../../model/declared-shape.ts";
import type { DefinitionSet } from "./definition-set.ts";
import { DefinitionsConnection } from "./definitions-connection.ts";
import { evaluateIn } from "./evaluate.ts";
import { listeners } from "./listeners.ts";
import type {
  RemoteEvaluation,
  RemoteFlags,
  RemoteFlagsChange,
  RemoteFlagsOptions,
  RemoteFlagsState,
  RemoteReadOptions,
} from "./remote-flags.ts";
import { SetKeeper } from "./set-keeper.ts";

const DEFAULT_READY_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;
/** How long a start waits for the server before it uses the file, unless the first attempt fails earlier. */
const FILE_AFTER_MS = 2_000;
/** Most warnings of one process. The values of a caller could make any number of them. */
const MAX_WARNINGS = 100;

/**
 * Flags for a server process that has no access to the database. One connection to `flagDefinitions` of the server keeps
 * the definitions current; evaluations run in this process, with the engine of the server.
 *
 * @example
 * ```ts
 * import { createRemoteFlags } from "@halyard/flags/remote";
 *
 * const flags = createRemoteFlags({
 *   url: "wss://app.example.com/flag-definitions",
 *   key: process.env["FLAGS_KEY"] ?? "",
 *   file: "/var/cache/worker/flags",
 * });
 * await flags.ready;
 * if (flags.isEnabled("new-checkout", { context: { userId: "user-1" } })) console.log("new checkout");
 * ```
 */
export function createRemoteFlags<const Flags extends FlagDeclarations = FlagDeclarations>(
  options: RemoteFlagsOptions<Flags>,
): RemoteFlags<Flags> {
  const {
    file,
    flags: declared,
    readyTimeoutMs = DEFAULT_READY_TIMEOUT_MS,
    maxBytes = DEFAULT_MAX_BYTES,
  } = options;
  const url = addressOf(options);
  const changes = listeners<[RemoteFlagsChange]>();
  const states = listeners<[RemoteFlagsState]>();
  const errors = listeners<[WsError]>();
  let state: RemoteFlagsState = "connecting";
  let set: DefinitionSet | undefined;
  let confirmedAtMs = 0;
  let error: WsError | undefined;

  let settle: { resolve(): void; reject(error: WsError): void } | undefined;
  const ready = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // Callers that never read `ready` must not end the process.
  ready.catch(() => undefined);
  const readyTimer = later(() => {
    settle?.reject(
      new WsError(
        "DEADLINE_EXCEEDED",
        `No flag definitions arrived within ${readyTimeoutMs} ms (readyTimeoutMs).`,
        undefined,
        { cause: error },
      ),
    );
  }, readyTimeoutMs);
  const fileTimer = later(() => startFromFile(), FILE_AFTER_MS);

  function report(failure: WsError): void {
    if (!errors.emit(failure)) warnOnce(failure.message);
  }

  function setState(next: RemoteFlagsState): void {
    if (state === next || state === "closed") return;
    state = next;
    states.emit(next);
  }

  function install(next: DefinitionSet, changedKeys: readonly string[] | undefined): void {
    const before = set;
    set = next;
    clearTimeout(readyTimer);
    settle?.resolve();
    const keys = changedKeys ?? [...new Set([...(before?.flags.keys() ?? []), ...next.flags.keys()])];
    if (before !== undefined && keys.length > 0) changes.emit({ keys });
  }

  /** The stored set, once there is one and the server has sent none. */
  let stored: { readonly set: DefinitionSet; readonly confirmedAtMs: number } | undefined;
  let mayStartFromFile = false;
  function startFromFile(): void {
    mayStartFromFile = true;
    if (stored === undefined || set !== undefined || state === "closed") return;
    confirmedAtMs = stored.confirmedAtMs;
    install(stored.set, []);
    setState("stale");
  }

  function lose(failure: WsError): void {
    error = failure;
    startFromFile();
    if (set !== undefined) setState("stale");
    report(failure);
  }

  const keeper =
    file === undefined
      ? undefined
      : new SetKeeper({
          path: file,
          key: options.key,
          source: JSON.stringify([url, options.environment ?? null]),
          maxBytes,
          failed: report,
        });

  const connection = new DefinitionsConnection(
    {
      url,
      key: options.key,
      environment: options.environment,
      maxBytes,
      wsFactory: options.wsFactory,
      reconnect: options.reconnect,
    },
    {
      received(next, keys, stale) {
        error = stale ? databaseDown() : undefined;
        if (!stale || set === undefined) confirmedAtMs = Date.now();
        const isNew = set !== next;
        if (isNew) install(next, keys);
        if (isNew || !stale) keeper?.keep(next, confirmedAtMs);
        setState(stale ? "stale" : "live");
      },
      lost: lose,
      failed: lose,
      refused(failure) {
        error = failure;
        settle?.reject(failure);
        stop();
        setState("closed");
        report(failure);
      },
    },
  );
  void keeper?.read().then((found) => {
    stored = found;
    if (found !== undefined) connection.resume(found.set);
    if (mayStartFromFile) startFromFile();
  });
  connection.open();

  function stop(): void {
    clearTimeout(readyTimer);
    clearTimeout(fileTimer);
  }

  const warned = new Set<string>();
  function warnOnce(message: string): void {
    if (warned.has(message) || warned.size >= MAX_WARNINGS) return;
    warned.add(message);
    console.warn(`[feature-flags] ${message}`);
  }

  const declarationOf = (key: string) =>
    declared !== undefined && Object.hasOwn(declared, key) ? declared[key] : undefined;

  function evaluate(key: string, { context = {} }: RemoteReadOptions = {}): RemoteEvaluation {
    const result = set && evaluateIn(set, key, context, Date.now());
    if (result === undefined) return { value: null, reason: "not_found" };
    if ("problem" in result) throw new WsError("INVALID_ARGUMENT", result.problem);
    for (const root of result.missing) {
      warnOnce(
        `The flag "${key}" reads trusted attributes (${root}) that only the server can look up, so rules that read them are skipped. Pass them in the context, as in { ${root}: { … } }.`,
      );
    }
    const { value, variant, reason } = result.evaluation;
    return { value, ...(variant !== undefined && { variant }), reason };
  }

  /** Undefined if the default applies. */
  function read(key: string, readOptions: RemoteReadOptions | undefined): RemoteEvaluation | undefined {
    if (set === undefined) {
      warnOnce("A flag was read before there are flag definitions. Defaults are used. Wait for ready.");
      return undefined;
    }
    try {
      const result = evaluate(key, readOptions);
      if (result.reason === "not_found") return undefined;
      const declaration = declarationOf(key);
      const misfit = declaration && findMisfit(declaration, result.value);
      if (misfit === undefined) return result;
      warnOnce(
        `Flag "${key}" is not as declared: value${misfit}. The default is used. Change the stored flag or its declaration.`,
      );
    } catch (thrown) {
      warnOnce(thrown instanceof Error ? thrown.message : String(thrown));
    }
    return undefined;
  }

  const flags = {
    ready,
    get state() {
      return state;
    },
    get staleMs() {
      if (set === undefined) return undefined;
      return state === "live" ? 0 : Math.max(0, Date.now() - confirmedAtMs);
    },
    get error() {
      return error;
    },
    isEnabled(key: string, readOptions?: RemoteReadOptions, defaultValue?: boolean): boolean {
      const value = read(key, readOptions)?.value;
      return typeof value === "boolean" ? value : (defaultValue ?? declarationOf(key)?.default === true);
    },
    getValue(key: string, readOptions?: RemoteReadOptions, defaultValue?: JsonValue): JsonValue | undefined {
      const result = read(key, readOptions);
      if (result !== undefined) return result.value;
      return defaultValue === undefined ? declarationOf(key)?.default : defaultValue;
    },
    getVariant(key: string, readOptions?: RemoteReadOptions): string | null {
      const variant = read(key, readOptions)?.variant;
      const known = declarationOf(key)?.variants;
      return variant === undefined || known?.includes(variant) === false ? null : variant;
    },
    evaluate,
    onChange: changes.add,
    onState: states.add,
    onError: errors.add,
    async close(): Promise<void> {
      stop();
      settle?.reject(new WsError("UNAVAILABLE", "The remote flags were closed."));
      setState("closed");
      await connection.close();
      await keeper?.close();
    },
  };
  // The implementation uses string keys; the declared flags only narrow the types.
  return flags as unknown as RemoteFlags<Flags>;
}

function databaseDown(): WsError {
  return new WsError("UNAVAILABLE", "The database of the server does not respond. Newer flags may exist.");
}

function addressOf({ url, key, organizationId }: RemoteFlagsOptions): string {
  if (key === "") throw new TypeError("createRemoteFlags: key is empty. Pass an API key of the server.");
  const address = new URL(url);
  if (organizationId !== undefined) address.searchParams.set("organizationId", organizationId);
  return address.href;
}
