/** Reads the log of a durable call for one request: what is kept, then what is added, until the end. */
import { CONTROL } from "../../protocol/control.ts";
import type { WsError } from "../../protocol/error.ts";
import type { HistoryPage, HistoryPosition } from "../../pubsub/history.ts";
import { type CallLog, errorFrame, readEntry, unreachable } from "./call-log.ts";
import type { CallRegistry } from "./call-registry.ts";
import { cancelled, lost } from "./call-run.ts";
import type { StreamCall } from "./stream-call.ts";

/** The call that is read. */
export interface ReadTarget {
  readonly id: string;
  /** The process that runs the handler. */
  readonly process: string;
  /** The position of the header. */
  readonly position: HistoryPosition;
  /** How many items the reader has already; undefined: it wants no items, only the end. */
  readonly after: number | undefined;
  /** Throws when the connection may not read the call any more: its user may have changed. */
  checkOwner(): void;
}

/** Resolves when the request has its end. Rejects when the log cannot be read, or the request is cancelled. */
export async function readCall(
  request: StreamCall,
  registry: CallRegistry,
  log: CallLog,
  target: ReadTarget,
): Promise<void> {
  const { id, process, position: start, after } = target;
  const signal = new Signal();
  request.onCancel(() => signal.raise());
  const unwatch = await registry
    .watch(log.topic, id, (failure) => signal.raise(failure))
    .catch((error: unknown) => {
      throw unreachable(error);
    });
  const runner = registry.follow(process, id, log.topic, () => signal.raise());
  let position: HistoryPosition = { ...start, offset: start.offset + (after ?? 0) };
  try {
    while (request.isRunning) {
      signal.lower();
      const page = await log.read(position);
      if (await send(request, page, target)) return;
      position = { ...position, offset: page.items.at(-1)?.offset ?? position.offset };
      if (page.hasMore) continue;
      if (signal.failure !== undefined) throw signal.failure;
      if (signal.isRaised) continue;
      if (runner.isDead) await log.end(errorFrame(lost().toPayload()));
      else await signal.raised();
    }
  } finally {
    runner.stop();
    unwatch();
  }
}

/** Sends the frames of a page; true when the end was among them. */
async function send(
  request: StreamCall,
  { items }: HistoryPage,
  { after, checkOwner }: ReadTarget,
): Promise<boolean> {
  const sendsItems = after !== undefined;
  for (const { frame } of items) {
    const entry = readEntry(frame);
    if (entry.kind === "item" && !sendsItems) continue;
    checkOwner();
    if (entry.kind === "item") {
      await request.forward(progressFrame(request, entry.json));
      continue;
    }
    // To the request that cancels, every error is the end that it wanted.
    if (entry.kind === "error") request.failWith(sendsItems ? entry.error : cancelled().toPayload());
    else request.reply(request.responseSchema, entry.payload);
    return true;
  }
  return false;
}

function progressFrame(request: StreamCall, json: string): string {
  const timestamp = request.ws.server.clock.wall();
  const meta = JSON.stringify({ timestamp, correlationId: request.id });
  return `{"type":"${CONTROL.progress}","meta":${meta}${json === "" ? "" : `,"payload":${json}`}}`;
}

/** Remembers that something happened until it is lowered. */
class Signal {
  isRaised = false;
  failure: WsError | undefined;
  #resolve: (() => void) | undefined;

  raise(failure?: WsError): void {
    this.isRaised = true;
    this.failure ??= failure;
    this.#resolve?.();
  }

  lower(): void {
    this.isRaised = false;
  }

  raised(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      if (this.isRaised) resolve();
    });
  }
}
