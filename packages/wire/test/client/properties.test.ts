/** Invariants of the connection and of the client for any order of events. */
import { sized } from "@halyard/services";
import fc from "fast-check";
import { describe, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import {
  CLOSED,
  type ClientState,
  type Connection,
  type ConnectionEvent,
  reduce,
} from "../../src/client/connection.ts";
import type { ClientOptions } from "../../src/client/options.ts";
import type { WsClient } from "../../src/client/ws-client.ts";
import { message, rpc, z } from "../../src/zod.ts";
import { FakeWorld } from "./fake-world.ts";

const RUNS = sized(100_000, 10_000);
const DEADLINE_MS = 240_000;

/** The allowed transitions. */
const NEXT: Readonly<Record<ClientState, readonly ClientState[]>> = {
  closed: ["connecting"],
  connecting: ["open", "reconnecting", "closed"],
  open: ["closing", "reconnecting", "closed"],
  closing: ["closed"],
  reconnecting: ["open", "closed"],
};

const closeCode = fc.constantFrom(1000, 1001, 1006, 1008, 1009, 1012, 1013, 4401, 4403, 4408);
const closeReason = fc.constantFrom("", "retryAfterMs=50", "retryAfterMs=x", "bye");
const heartbeat = fc.record({
  heartbeatMs: fc.constantFrom(0, 20, 1_000),
  timeoutMs: fc.constantFrom(0, 10, 500),
});

describe("the connection", () => {
  const event: fc.Arbitrary<ConnectionEvent> = fc.oneof(
    fc.constantFrom<ConnectionEvent>({ type: "connect" }, { type: "timer" }, { type: "wake" }),
    fc.record({ type: fc.constant("close" as const), code: fc.constant(1000), reason: fc.constant("") }),
    fc.record({ type: fc.constant("opened" as const), greets: fc.boolean() }),
    heartbeat.map((hello) => ({ type: "hello" as const, ...hello })),
    fc.record({ type: fc.constant("lost" as const), code: closeCode, reason: closeReason }),
    fc.constant<ConnectionEvent>({ type: "lost", error: new Error("no token") }),
  );
  const sight = fc.record({
    openMs: fc.constantFrom(0, 50, 20_000),
    silentMs: fc.constantFrom(0, 10, 5_000, Number.POSITIVE_INFINITY),
  });
  const reconnect = fc.record({
    enabled: fc.boolean(),
    maxAttempts: fc.constantFrom(0, 1, 3, Number.POSITIVE_INFINITY),
  });

  test(
    `takes only allowed transitions in ${RUNS.toLocaleString("en")} random runs, with at most one socket and never stuck`,
    () => {
      fc.assert(
        fc.property(reconnect, fc.array(fc.tuple(event, sight), { maxLength: 24 }), (options, steps) => {
          let link: Connection = CLOSED;
          for (const [step, seen] of steps) {
            const next = reduce(link, step, seen, options);
            if (next.state !== link.state && !NEXT[link.state].includes(next.state))
              throw new Error(`${link.state} became ${next.state} by ${step.type}`);
            link = next;
            checkLink(link);
          }
          const closed = [...Array(3)].reduce<Connection>(
            (last: Connection) => reduce(last, { type: "lost" }, { openMs: 0, silentMs: 0 }, options),
            reduce(link, { type: "close", code: 1000, reason: "" }, { openMs: 0, silentMs: 0 }, options),
          );
          if (closed.state !== "closed" || closed.socket || closed.timer)
            throw new Error("It did not close.");
        }),
        { numRuns: RUNS },
      );
    },
    DEADLINE_MS,
  );

  /** A connection that waits must have a timer, so that it cannot wait for ever. */
  function checkLink({ state, socket, timer, attempt, probing }: Connection): void {
    if (NEXT[state] === undefined) throw new Error(`There is no state ${state}.`);
    if (!(attempt >= 0)) throw new Error(`The attempt is ${attempt}.`);
    if ((state === "closed") === (socket !== undefined) && state !== "reconnecting")
      throw new Error(`${state}, and socket ${socket}.`);
    if (state === "closed" ? timer : state !== "open" && !timer)
      throw new Error(`${state}, and timer ${timer}.`);
    if (probing && state === "open" && !timer) throw new Error("A ping waits without an end.");
    if (timer && !(timer.ms >= 0)) throw new Error(`The timer is ${timer.ms} ms.`);
  }
});

describe("the client", () => {
  const Note = message("NOTE", { n: z.number() });
  const Ask = rpc("ASK", { n: z.number() }, "ANSWER", { n: z.number() });

  interface Life {
    readonly world: FakeWorld;
    readonly client: WsClient;
    /** How often each request settled. */
    readonly settled: number[];
    readonly aborts: AbortController[];
  }

  type Act = (life: Life) => void;

  const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)];

  function ask({ client, settled, aborts }: Life, timeoutMs: number): void {
    const at = settled.push(0) - 1;
    const count = (): void => {
      settled[at] = (settled[at] ?? 0) + 1;
    };
    const abort = new AbortController();
    aborts.push(abort);
    client
      .request(Ask, { n: at }, { timeoutMs, signal: abort.signal, correlationId: `${at}` })
      .then(count, count);
  }

  const act: fc.Arbitrary<Act> = fc.oneof(
    fc.constant<Act>(({ client }) => void client.connect().catch(() => undefined)),
    fc.constant<Act>(({ client }) => void client.close()),
    fc.constant<Act>(({ client }) => void client.send(Note, { n: 1 })),
    {
      weight: 4,
      arbitrary: fc.constantFrom(30, 5_000, 30_000).map(
        (ms): Act =>
          (life) =>
            ask(life, ms),
      ),
    },
    fc.nat(9).map(
      (at): Act =>
        ({ aborts }) =>
          pick(aborts, at)?.abort(),
    ),
    {
      weight: 2,
      arbitrary: heartbeat.map(
        (hello): Act =>
          ({ world }) =>
            world.sockets.at(-1)?.greet(hello),
      ),
    },
    fc.constantFrom("", "halyard.v1.json", "chat.v1").map(
      (name): Act =>
        ({ world }) =>
          world.sockets.at(-1)?.accept(name),
    ),
    {
      weight: 2,
      arbitrary: fc.tuple(fc.nat(9), fc.constantFrom("ANSWER", "WRONG", "$ws:error", "$ws:rpc-progress")).map(
        ([at, type]): Act =>
          ({ world, settled }) => {
            const id = at % Math.max(1, settled.length);
            world.sockets.at(-1)?.deliver(type, { n: id, code: "NOT_FOUND" }, { correlationId: `${id}` });
          },
      ),
    },
    fc.constantFrom<unknown>("{", "[]", 7, '{"type":1}', '{"type":"NOTE"}').map(
      (frame): Act =>
        ({ world }) =>
          world.sockets.at(-1)?.raw(frame),
    ),
    fc.constantFrom(0, 40).map(
      (retryAfterMs): Act =>
        ({ world }) =>
          world.sockets.at(-1)?.deliver("$ws:drain", { retryAfterMs }),
    ),
    {
      weight: 2,
      arbitrary: fc.tuple(closeCode, closeReason).map(
        ([code, reason]): Act =>
          ({ world }) =>
            world.sockets.at(-1)?.end(code, reason),
      ),
    },
    fc.tuple(fc.nat(9), closeCode).map(
      ([at, code]): Act =>
        ({ world, client }) => {
          const { state } = client;
          const givenUp = pick(world.sockets.slice(0, -1), at);
          givenUp?.accept();
          givenUp?.deliver("$ws:drain");
          givenUp?.end(code);
          if (client.state !== state) throw new Error("A socket that was given up is still listened to.");
        },
    ),
    {
      weight: 3,
      arbitrary: fc.constantFrom(1, 50, 400, 3_000, 11_000).map(
        (ms): Act =>
          ({ world }) =>
            world.advance(ms),
      ),
    },
    fc.constant<Act>(({ world }) => world.wake()),
  );

  const options: fc.Arbitrary<Omit<ClientOptions, "url">> = fc.record({
    reconnect: fc.record({
      enabled: fc.boolean(),
      maxAttempts: fc.constantFrom(1, Number.POSITIVE_INFINITY),
      initialDelayMs: fc.constantFrom(0, 20),
      maxDelayMs: fc.constantFrom(20, 1_000),
    }),
    queue: fc.constantFrom("drop-oldest" as const, "drop-newest" as const, "off" as const),
    queueSize: fc.constantFrom(0, 1, 3),
    pendingRequestsLimit: fc.constantFrom(1, 4),
    autoConnect: fc.boolean(),
  });

  test(
    `has at most one socket and settles each request once in ${RUNS.toLocaleString("en")} random runs`,
    async () => {
      await fc.assert(
        fc.asyncProperty(options, fc.array(act, { maxLength: 24 }), async (given, acts) => {
          const world = new FakeWorld();
          const client = createClient({ url: "ws://server/", ...given }, world);
          const life: Life = { world, client, settled: [], aborts: [] };
          let state: ClientState = client.state;
          client.onState((next) => {
            if (!NEXT[state].includes(next)) throw new Error(`${state} became ${next}`);
            state = next;
          });
          const thrown: unknown[] = [];
          client.onError((error) => error.code === "INTERNAL" && error.cause && thrown.push(error.cause));
          for (const step of acts) {
            step(life);
            const held = world.sockets.filter(({ readyState }) => readyState < 2).length;
            if (held > 1) throw new Error(`${held} sockets at once`);
            if (state !== client.state) throw new Error(`${client.state} was not announced`);
          }
          const closed = client.close();
          for (const socket of world.sockets) socket.end();
          await closed;
          await Promise.resolve();
          if (client.state !== "closed") throw new Error(`close() ended in ${client.state}`);
          if (life.settled.some((times) => times !== 1)) throw new Error(`settled: ${life.settled.join()}`);
          if (world.timers.length > 0 || world.wakers > 0)
            throw new Error("Something of the client is left.");
          if (thrown.length > 0) throw thrown[0];
        }),
        { numRuns: RUNS },
      );
    },
    DEADLINE_MS,
  );
});
