/** Streams of server-sent events that say when flags changed, and nothing about them: clients then evaluate again. */
import { later } from "@halyard/base";
import type { Identities, RowChange } from "@halyard/sessions/plugin";
import type { FlagStore } from "../store/flag-store.ts";
import { repeat } from "../store/wait.ts";

/** For whom a stream is open. */
export interface StreamOwner {
  /** Counts streams. */
  readonly principal: string;
  readonly userId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly sessionToken?: string | undefined;
}

export interface EventStreams {
  /** Undefined if the caller or the process has too many streams. */
  open(tenants: readonly string[], owner: StreamOwner): ReadableStream<Uint8Array> | undefined;
  size(): number;
  close(): void;
}

const MAX_STREAMS = 10_000;
const MAX_PER_PRINCIPAL = 20;
/** Changes within this time are announced together. */
const COALESCE_MS = 100;
/** Keeps proxies from closing a stream without events. */
const HEARTBEAT_MS = 25_000;
/** After this time the client connects again, and its credentials are verified again. */
const LIFE_MS = 10 * 60_000;
/** Chunks that a reader may leave unread. */
const MAX_UNREAD = 16;

const encoder = new TextEncoder();
const HEARTBEAT = encoder.encode(":\n\n");
const HELLO = encoder.encode("retry: 3000\n\n");
const REFETCH = encoder.encode('event: message\ndata: {"type":"refetchEvaluation"}\n\n');

interface Stream {
  readonly owner: StreamOwner;
  send(chunk: Uint8Array): void;
  end(): void;
}

export function createEventStreams(
  store: Pick<FlagStore, "follow">,
  { changeListeners }: Pick<Identities, "changeListeners">,
): EventStreams {
  const streams = new Set<Stream>();
  const counts = new Map<string, number>();
  let heartbeat: { stop(): void } | undefined;
  let isWatching = false;

  /** A client whose session changed evaluates again, with a new connection. */
  function see(change: RowChange): void {
    for (const stream of [...streams]) {
      if (!concerns(change, stream.owner)) continue;
      stream.send(REFETCH);
      stream.end();
    }
  }

  function count(principal: string, difference: number): void {
    const next = (counts.get(principal) ?? 0) + difference;
    if (next <= 0) counts.delete(principal);
    else counts.set(principal, next);
  }

  return {
    size: () => streams.size,
    open(tenants, owner) {
      const { principal } = owner;
      if (streams.size >= MAX_STREAMS || (counts.get(principal) ?? 0) >= MAX_PER_PRINCIPAL) return undefined;
      if (!isWatching) changeListeners.add(see);
      isWatching = true;
      heartbeat ??= repeat(HEARTBEAT_MS, async () => {
        for (const stream of [...streams]) stream.send(HEARTBEAT);
      });
      let stream: Stream | undefined;
      return new ReadableStream<Uint8Array>({
        start(controller) {
          stream = createStream(controller, owner, tenants);
        },
        cancel: () => stream?.end(),
      });
    },
    close() {
      heartbeat?.stop();
      changeListeners.delete(see);
      for (const stream of [...streams]) stream.end();
    },
  };

  function createStream(
    controller: ReadableStreamDefaultController<Uint8Array>,
    owner: StreamOwner,
    tenants: readonly string[],
  ): Stream {
    let waiting: ReturnType<typeof setTimeout> | undefined;
    const stream: Stream = {
      owner,
      send(chunk) {
        // A reader this slow has lost its connection, or will evaluate again anyway.
        if ((controller.desiredSize ?? 0) < -MAX_UNREAD) return stream.end();
        controller.enqueue(chunk);
      },
      end() {
        if (!streams.delete(stream)) return;
        count(owner.principal, -1);
        clearTimeout(waiting);
        clearTimeout(life);
        for (const stop of stops) stop();
        try {
          controller.close();
        } catch {
          // The reader has cancelled the stream.
        }
      },
    };
    const life = later(() => stream.end(), LIFE_MS * (0.9 + Math.random() * 0.2));
    const changed = (): void => {
      waiting ??= later(() => {
        waiting = undefined;
        stream.send(REFETCH);
      }, COALESCE_MS);
    };
    streams.add(stream);
    count(owner.principal, 1);
    controller.enqueue(HELLO);
    const stops = tenants.map((tenant) =>
      store.follow(tenant, (_current, previous) => {
        if (previous !== undefined) changed();
      }),
    );
    return stream;
  }
}

function concerns(change: RowChange, { userId, sessionId, sessionToken }: StreamOwner): boolean {
  switch (change.kind) {
    case "user":
      return change.id === userId;
    case "session":
      return change.id === sessionToken;
    case "session-id":
      return change.id === sessionId;
    default:
      // Others do not name the user, and cost at most the lifetime of a stream.
      return false;
  }
}
