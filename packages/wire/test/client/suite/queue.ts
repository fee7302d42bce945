/** Messages that are sent without an open connection. */
import { type Case, ECHOING, equal, errorsOf, failure, until } from "../kit.ts";

export const queue: readonly Case[] = [
  {
    name: "messages and requests made while closed are sent in order after the next open",
    async run(kit) {
      const server = await kit.serve(ECHOING);
      const client = kit.client({ url: server.url });
      const { Note, Echo } = kit.schemas;
      equal([client.send(Note, { text: "1" }), client.send(Note, { text: "2" })], [false, false]);
      const answer = client.request(Echo, { text: "3" });
      await client.connect();
      equal(client.send(Note, { text: "4" }), true);
      equal((await answer).payload.text, "3");
      const frames = await until(async () => {
        const { frames } = await server.received();
        return frames.length === 4 ? frames : undefined;
      }, "four frames");
      equal(
        frames.map(({ payload }) => payload),
        [{ text: "1" }, { text: "2" }, { text: "3" }, { text: "4" }],
      );
    },
  },
  {
    name: "a message with queue: false is sent while open, and otherwise dropped without a report",
    async run(kit) {
      const { client, world } = kit.imagined({ queueSize: 1 });
      const errors = errorsOf(client);
      const { Note, Echo } = kit.schemas;
      const volatile = (text: string): boolean => client.send(Note, { text }, { queue: false });
      equal([volatile("1"), volatile("2")], [false, false]);
      const answer = client.request(Echo, { text: "3" });
      void client.connect();
      world.socket.greet();
      equal(volatile("4"), true);
      world.socket.deliver("$ws:drain", { retryAfterMs: 1 });
      equal(volatile("5"), false);
      equal(
        world.socket.sent.map(({ payload }) => payload),
        [{ text: "3" }, { text: "4" }],
      );
      equal(errors, []);
      world.socket.end();
      equal((await failure(answer)).code, "UNAVAILABLE");
    },
  },
  {
    name: "drop-newest refuses the new message when the queue is full and reports it",
    async run(kit) {
      const { client, world } = kit.imagined({ queue: "drop-newest", queueSize: 2 });
      const errors = errorsOf(client);
      const { Note, Echo } = kit.schemas;
      for (const text of ["1", "2", "3"]) equal(client.send(Note, { text }), false);
      equal((await failure(client.request(Echo, { text: "4" }))).code, "RESOURCE_EXHAUSTED");
      equal(errors, [
        ["overflow", "RESOURCE_EXHAUSTED"],
        ["overflow", "RESOURCE_EXHAUSTED"],
      ]);
      void client.connect();
      world.socket.greet();
      equal(
        world.socket.sent.map(({ payload }) => payload),
        [{ text: "1" }, { text: "2" }],
      );
    },
  },
  {
    name: "drop-oldest removes the oldest entry for the new one: a request rejects, a message is reported",
    async run(kit) {
      const { client, world } = kit.imagined({ queue: "drop-oldest", queueSize: 2 });
      const errors = errorsOf(client);
      const { Note, Echo } = kit.schemas;
      const oldest = client.request(Echo, { text: "1" });
      for (const text of ["2", "3", "4"]) equal(client.send(Note, { text }), false);
      equal((await failure(oldest)).code, "RESOURCE_EXHAUSTED");
      equal(errors.length, 2);
      void client.connect();
      world.socket.greet();
      equal(
        world.socket.sent.map(({ payload }) => payload),
        [{ text: "3" }, { text: "4" }],
      );
    },
  },
  {
    name: "off rejects a request with UNAVAILABLE and drops and reports a message without an open connection",
    async run(kit) {
      const { client, world } = kit.imagined({ queue: "off" });
      const errors = errorsOf(client);
      const { Note, Echo } = kit.schemas;
      equal((await failure(client.request(Echo, { text: "x" }))).code, "UNAVAILABLE");
      equal(errors, []);
      equal(client.send(Note, { text: "x" }), false);
      equal(errors, [["overflow", "UNAVAILABLE"]]);
      void client.connect();
      world.socket.greet();
      equal(world.socket.sent, []);
      equal(client.send(Note, { text: "y" }), true);
    },
  },
  {
    name: "the overflow error names the type of the dropped message",
    async run(kit) {
      const { client } = kit.imagined({ queue: "drop-oldest", queueSize: 1 });
      const details: unknown[] = [];
      client.onError((_error, context) => details.push(context.details));
      client.send(kit.schemas.Bare);
      client.send(kit.schemas.Note, { text: "x" });
      equal(details, [{ type: "BARE" }]);
    },
  },
  {
    name: "a queued message is sent with the values it had when it was queued",
    async run(kit) {
      const { client, world } = kit.imagined();
      const payload = { text: "before" };
      client.send(kit.schemas.Note, payload);
      payload.text = "after";
      void client.connect();
      world.socket.greet();
      equal(world.socket.sent[0]?.payload, { text: "before" });
    },
  },
  {
    name: "a queued request that is cancelled while the queue is being sent is not sent",
    async run(kit) {
      const { client, world } = kit.imagined();
      const abort = new AbortController();
      client.onError(() => abort.abort());
      client.send(kit.schemas.Note, { text: "too large".repeat(200) });
      const ghost = failure(client.request(kit.schemas.Echo, { text: "ghost" }, { signal: abort.signal }));
      void client.connect();
      world.socket.greet({ maxPayloadBytes: 1_000 });
      equal((await ghost).code, "CANCELLED");
      equal(world.socket.sent, []);
    },
  },
  {
    name: "a queued request that timed out or was aborted is not sent later",
    async run(kit) {
      const { client, world } = kit.imagined();
      const { Echo } = kit.schemas;
      const late = failure(client.request(Echo, { text: "ghost" }, { timeoutMs: 50 }));
      const abort = new AbortController();
      const aborted = failure(client.request(Echo, { text: "ghost" }, { signal: abort.signal }));
      world.advance(50);
      abort.abort();
      equal([(await late).code, (await aborted).code], ["DEADLINE_EXCEEDED", "CANCELLED"]);
      void client.connect();
      world.socket.greet();
      equal(world.socket.sent, []);
    },
  },
  {
    name: "a queued request sends only its remaining time as timeoutMs",
    async run(kit) {
      const { client, world } = kit.imagined();
      client.request(kit.schemas.Echo, { text: "x" }, { timeoutMs: 5_000 }).catch(() => undefined);
      void client.connect();
      world.advance(1_500);
      world.socket.greet();
      equal(world.socket.sent[0]?.meta?.["timeoutMs"], 3_500);
    },
  },
  {
    name: "queued requests survive a lost connection and failed attempts, and requests in flight do not",
    async run(kit) {
      const { client, world } = kit.imagined({ reconnect: { jitter: "none" } });
      const { Echo } = kit.schemas;
      void client.connect();
      world.socket.greet();
      const flying = failure(client.request(Echo, { text: "in flight" }));
      world.socket.end();
      const error = await flying;
      equal([error.code, error.retryable], ["UNAVAILABLE", true]);
      const waiting = client.request(Echo, { text: "queued" }, { correlationId: "q" });
      world.advance(300);
      world.socket.end();
      world.advance(600);
      world.socket.greet();
      equal(
        world.socket.sent.map(({ payload }) => payload),
        [{ text: "queued" }],
      );
      world.socket.deliver("ECHO_OK", { text: "queued" }, { correlationId: "q" });
      equal((await waiting).payload.text, "queued");
    },
  },
  {
    name: "close rejects queued and sent requests with UNAVAILABLE, drops messages, and the client queues again afterwards",
    async run(kit) {
      const { client, world } = kit.imagined();
      const { Note, Echo } = kit.schemas;
      client.send(Note, { text: "dropped" });
      const queued = failure(client.request(Echo, { text: "queued" }));
      await client.close();
      equal((await queued).code, "UNAVAILABLE");
      void client.connect();
      world.socket.greet();
      const sent = failure(client.request(Echo, { text: "sent" }));
      void client.close();
      equal((await sent).code, "UNAVAILABLE");
      world.socket.end(1000);
      equal(client.send(Note, { text: "kept" }), false);
      void client.connect();
      world.socket.greet();
      equal(
        world.socket.sent.map(({ payload }) => payload),
        [{ text: "kept" }],
      );
    },
  },
  {
    name: "queued requests reject with UNAVAILABLE and the reason as cause when the client stops reconnecting",
    async run(kit) {
      const { client, world } = kit.imagined({ autoConnect: true });
      const rejection = failure(client.request(kit.schemas.Echo, { text: "x" }));
      world.socket.end(4401);
      const error = await rejection;
      equal([error.code, (error.cause as { code?: string }).code], ["UNAVAILABLE", "UNAUTHENTICATED"]);
    },
  },
  {
    name: "a message for a closing socket is queued and not lost",
    async run(kit) {
      const { client, world } = kit.imagined({ reconnect: { jitter: "none" } });
      void client.connect();
      world.socket.greet();
      world.socket.readyState = 2;
      equal(client.send(kit.schemas.Note, { text: "x" }), false);
      world.socket.end();
      world.advance(300);
      world.socket.greet();
      equal(
        world.socket.sent.map(({ payload }) => payload),
        [{ text: "x" }],
      );
    },
  },
  {
    name: "a socket with 16 MiB unsent makes the client drop and report a message and reject a request",
    async run(kit) {
      const { client, world } = kit.imagined();
      const errors = errorsOf(client);
      void client.connect();
      world.socket.greet();
      world.socket.bufferedAmount = 2 ** 24 + 1;
      equal(client.send(kit.schemas.Note, { text: "x" }), false);
      equal((await failure(client.request(kit.schemas.Slow))).code, "RESOURCE_EXHAUSTED");
      equal(errors.length, 2);
      world.socket.bufferedAmount = 0;
      equal(client.send(kit.schemas.Note, { text: "y" }), true);
    },
  },
  {
    name: "a frame larger than the server accepts is refused with INVALID_ARGUMENT and not sent",
    async run(kit) {
      const { client, world } = kit.imagined();
      const errors = errorsOf(client);
      const { Note, Echo } = kit.schemas;
      client.send(Note, { text: "queued ".repeat(50) });
      void client.connect();
      world.socket.greet({ maxPayloadBytes: 300 });
      equal((await failure(client.request(Echo, { text: "é".repeat(100) }))).code, "INVALID_ARGUMENT");
      equal(client.send(Note, { text: "e".repeat(100) }), true);
      equal(errors, [
        ["overflow", "INVALID_ARGUMENT"],
        ["overflow", "INVALID_ARGUMENT"],
      ]);
      equal(world.socket.sent.length, 1);
    },
  },
];
