/** Messages from the server: handlers, unhandled messages, errors, control frames. */
import { type Case, ECHOING, equal, errorsOf, failure, ok, settle, until } from "../kit.ts";

export const messages: readonly Case[] = [
  {
    name: "send returns true when the client is open, and on receives the payload",
    async run(kit) {
      const server = await kit.serve();
      const client = kit.client({ url: server.url });
      const got: unknown[] = [];
      client.on(kit.schemas.Note, (payload) => got.push(payload));
      await client.connect();
      equal(client.send(kit.schemas.Note, { text: "ü" }), true);
      equal((await server.frames("NOTE", 1))[0]?.payload, { text: "ü" });
      await server.deliver("NOTE", { text: "back" }, { timestamp: 1 });
      await until(() => got.length === 1, "the message");
      equal(got, [{ text: "back" }]);
    },
  },
  {
    name: "send transmits meta and correlationId",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet();
      client.send(kit.schemas.Tagged, { text: "x" }, { meta: { room: "r" }, correlationId: "k" });
      client.send(kit.schemas.Bare);
      const timestamp = world.Date.now();
      equal(world.socket.sent, [
        { type: "TAGGED", meta: { timestamp, room: "r", correlationId: "k" }, payload: { text: "x" } },
        { type: "BARE", meta: { timestamp } },
      ]);
    },
  },
  {
    name: "a handler also receives the meta, with the fields that its schema declares",
    async run(kit) {
      const { client, world } = kit.imagined();
      const got: unknown[] = [];
      client.on(kit.schemas.Tagged, (payload, meta) => got.push([payload, meta]));
      void client.connect();
      world.socket.greet();
      world.socket.deliver(
        "TAGGED",
        { text: "x" },
        { timestamp: 7, room: "r", $t: "topic", $o: 3, clientId: "c" },
      );
      equal(got, [[{ text: "x" }, { timestamp: 7, room: "r" }]]);
    },
  },
  {
    name: "several handlers of one type all run, in order, and each has its own unsubscribe function",
    async run(kit) {
      const { client, world } = kit.imagined();
      const { Note } = kit.schemas;
      const log: string[] = [];
      const stop = client.on(Note, () => log.push("a"));
      client.on(Note, () => {
        log.push("b");
        stopLast();
      });
      const stopLast = client.on(Note, () => log.push("c"));
      void client.connect();
      world.socket.greet();
      world.socket.deliver("NOTE", { text: "x" });
      stop();
      stop();
      world.socket.deliver("NOTE", { text: "x" });
      equal(log, ["a", "b", "b"]);
    },
  },
  {
    name: "a handler that throws or rejects is reported as unknown and affects neither the other handlers nor the client",
    async run(kit) {
      const { client, world } = kit.imagined();
      const { Note } = kit.schemas;
      const events: unknown[] = [];
      client.onError((error, { type }) => events.push([type, error.code, error.message]));
      client.on(Note, () => {
        throw new Error("one");
      });
      client.on(Note, async () => {
        throw new Error("two");
      });
      client.on(Note, ({ text }) => events.push(text));
      void client.connect();
      world.socket.greet();
      world.socket.deliver("NOTE", { text: "three" });
      await settle();
      equal(events, ["three", ["unknown", "INTERNAL", "one"], ["unknown", "INTERNAL", "two"]]);
      equal(client.state, "open");
    },
  },
  {
    name: "onUnhandled receives the whole message when the type has no handler, and never a control frame",
    async run(kit) {
      const { client, world } = kit.imagined();
      const got: unknown[] = [];
      const stop = client.onUnhandled((message) => got.push(message));
      client.on(kit.schemas.Note, () => undefined);
      void client.connect();
      world.socket.greet();
      for (const type of ["$ws:from-the-future", "$ws:pong", "$ws:subscribed", "NOTE", "OTHER"])
        world.socket.deliver(type, { text: "x" }, { timestamp: 1 });
      equal(got, [{ type: "OTHER", meta: { timestamp: 1 }, payload: { text: "x" } }]);
      stop();
      world.socket.deliver("OTHER");
      equal(got.length, 1);
    },
  },
  {
    name: "onError receives parse, validation and unknown errors, and such a message reaches no handler",
    async run(kit) {
      const server = await kit.serve();
      const client = kit.client({ url: server.url });
      const errors = errorsOf(client);
      const got: unknown[] = [];
      client.on(kit.schemas.Note, (payload) => got.push(payload));
      client.onUnhandled((message) => got.push(message));
      await client.connect();
      await server.raw("{not json");
      await server.binary();
      await server.raw('{"type":"NOTE","meta":[]}');
      await server.deliver("NOTE", { text: 1 });
      await server.deliver("$ws:error", { code: "NOT_FOUND", message: "?" });
      await server.deliver("$ws:error", { code: "ABORTED" }, { correlationId: "unknown" });
      await until(() => errors.length === 6, "six errors");
      equal(errors, [
        ["parse", "INTERNAL"],
        ["parse", "INTERNAL"],
        ["parse", "INTERNAL"],
        ["validation", "INVALID_ARGUMENT"],
        ["unknown", "NOT_FOUND"],
        ["unknown", "ABORTED"],
      ]);
      equal([got, client.state], [[], "open"]);
    },
  },
  {
    name: "onError and onUnhandled return unsubscribe functions, and an onError callback may throw",
    async run(kit) {
      const errors: string[] = [];
      const loud = console.error;
      console.error = () => undefined;
      try {
        const { client, world } = kit.imagined();
        const stop = client.onError((error) => {
          errors.push(error.code);
          throw new Error("mine");
        });
        void client.connect();
        world.socket.greet();
        world.socket.raw("?");
        stop();
        world.socket.raw("?");
        equal([errors.length, client.state], [1, "open"]);
      } finally {
        console.error = loud;
      }
    },
  },
  {
    name: "a callback registered twice runs twice, and each unsubscribe removes one registration",
    async run(kit) {
      const { client, world } = kit.imagined();
      let calls = 0;
      const callback = (): void => {
        calls++;
      };
      const stop = client.onState(callback);
      client.onState(callback);
      void client.connect();
      equal(calls, 2);
      stop();
      world.socket.greet();
      equal(calls, 3);
    },
  },
  {
    name: "the client returns a $ws:sync marker after it has handled everything before it",
    async run(kit) {
      const server = await kit.serve();
      const client = kit.client({ url: server.url });
      await client.connect();
      await server.deliver("$ws:sync", { id: "marker-1" });
      equal((await server.frames("$ws:synced", 1))[0]?.payload, { id: "marker-1" });
    },
  },
  {
    name: "onGap reports missed publishes with topic and reason",
    async run(kit) {
      const { client, world } = kit.imagined();
      const gaps: unknown[] = [];
      const stop = client.onGap((gap) => gaps.push(gap));
      void client.connect();
      world.socket.greet();
      world.socket.deliver("$ws:gap", { reason: "shed" });
      world.socket.deliver("$ws:gap", { topic: "room:1", reason: "bus" });
      stop();
      world.socket.deliver("$ws:gap", { reason: "shed" });
      equal(gaps, [{ reason: "shed" }, { topic: "room:1", reason: "bus" }]);
    },
  },
  {
    name: "onGap reports a reconnection before any later message, and not the first connection",
    async run(kit) {
      const server = await kit.serve();
      const client = kit.client({ url: server.url });
      const log: unknown[] = [];
      client.onGap((gap) => log.push(gap));
      client.on(kit.schemas.Note, ({ text }) => log.push(text));
      await client.connect();
      await server.deliver("NOTE", { text: "first" });
      await until(() => log.length === 1, "the first message");
      await server.terminate();
      await server.connections(2);
      await until(() => client.isConnected, "open again");
      await server.deliver("NOTE", { text: "second" });
      await until(() => log.length === 3, "the second message");
      equal(log, ["first", { reason: "reconnect" }, "second"]);
    },
  },
  {
    name: "the client queues new messages on $ws:drain, receives pending responses and then reconnects after the delay",
    async run(kit) {
      const { client, world } = kit.imagined({ reconnect: { jitter: "none", initialDelayMs: 10 } });
      const { Echo, Note } = kit.schemas;
      void client.connect();
      world.socket.greet();
      const first = client.request(Echo, { text: "first" }, { correlationId: "1" });
      const old = world.socket;
      old.deliver("$ws:drain", { retryAfterMs: 200 });
      equal([client.state, client.send(Note, { text: "waits" })], ["open", false]);
      const second = client.request(Echo, { text: "second" }, { correlationId: "2" });
      equal([old.sent.length, old.readyState], [1, 1]);
      old.deliver("ECHO_OK", { text: "first" }, { correlationId: "1" });
      equal((await first).payload.text, "first");
      equal([client.state, old.readyState, world.timers[0]], ["reconnecting", 2, 210]);
      world.advance(209);
      equal(world.sockets.length, 1);
      world.advance(1);
      world.socket.greet();
      equal(
        world.socket.sent.map(({ payload }) => payload),
        [{ text: "waits" }, { text: "second" }],
      );
      world.socket.deliver("ECHO_OK", { text: "second" }, { correlationId: "2" });
      equal((await second).payload.text, "second");
    },
  },
  {
    name: "a client without requests in flight leaves on $ws:drain immediately, and one that is disconnected first loses its requests in flight",
    async run(kit) {
      const idle = kit.imagined();
      void idle.client.connect();
      idle.world.socket.greet();
      idle.world.socket.deliver("$ws:drain", {});
      equal([idle.client.state, idle.world.socket.readyState], ["reconnecting", 2]);
      const busy = kit.imagined();
      void busy.client.connect();
      busy.world.socket.greet();
      const rejection = failure(busy.client.request(kit.schemas.Slow));
      busy.world.socket.deliver("$ws:drain", { retryAfterMs: 50 });
      busy.world.socket.end(1012, "retryAfterMs=50");
      equal([(await rejection).code, busy.client.state], ["UNAVAILABLE", "reconnecting"]);
    },
  },
  {
    name: "a request made while the server drains arrives once, over the next connection",
    async run(kit) {
      const server = await kit.serve({ answers: { ECHO: { type: "ECHO_OK", afterMs: 60 } } });
      const client = kit.client({ url: server.url });
      await client.connect();
      const first = client.request(kit.schemas.Echo, { text: "first" });
      await server.frames("ECHO", 1);
      await server.deliver("$ws:drain", { retryAfterMs: 80 });
      await until(() => client.send(kit.schemas.Note, { text: "x" }) === false, "the drain");
      const second = client.request(kit.schemas.Echo, { text: "second" });
      equal([(await first).payload.text, (await second).payload.text], ["first", "second"]);
      equal(
        (await server.frames("ECHO")).map(({ nth, payload }) => [nth, payload]),
        [
          [0, { text: "first" }],
          [1, { text: "second" }],
        ],
      );
    },
  },
  {
    name: "an idle client pings after heartbeatMs, stays connected to a live peer and leaves a dead one after timeoutMs",
    async run(kit) {
      // Long enough for any pong, because the next ping comes only after it.
      const live = await kit.serve({ ...ECHOING, hello: { heartbeatMs: 40, timeoutMs: 2_000 } });
      const alive = kit.client({ url: live.url });
      const states: string[] = [];
      alive.onState((state) => states.push(state));
      await alive.connect();
      await live.frames("$ws:ping", 3);
      equal(states, ["connecting", "open"]);
      const dead = await kit.serve({ mute: true, hello: { heartbeatMs: 40, timeoutMs: 60 } });
      const client = kit.client({ url: dead.url });
      await client.connect();
      const openedAt = performance.now();
      const request = failure(client.request(kit.schemas.Slow));
      await until(() => client.state === "reconnecting", "the client leaves the dead connection");
      const tookMs = performance.now() - openedAt;
      ok(tookMs >= 80 && tookMs < 5_000, `it took ${Math.round(tookMs)} ms`);
      equal((await request).code, "UNAVAILABLE");
    },
  },
  {
    name: "a client that receives any frame does not ping",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet({ heartbeatMs: 1_000, timeoutMs: 500 });
      for (let i = 0; i < 5; i++) {
        world.advance(900);
        world.socket.deliver("OTHER");
      }
      equal(world.socket.sent, []);
      world.advance(1_000);
      equal(world.socket.sent, [{ type: "$ws:ping" }]);
      world.advance(499);
      equal(client.state, "open");
      world.advance(1);
      equal(client.state, "reconnecting");
    },
  },
  {
    name: "delayed timers, as in a hidden tab, do not count against a peer that received no ping",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet({ heartbeatMs: 1_000, timeoutMs: 500 });
      world.sleep(60_000);
      equal([client.state, world.socket.sent], ["open", [{ type: "$ws:ping" }]]);
      world.advance(499);
      world.socket.deliver("$ws:pong");
      world.advance(1);
      equal(client.state, "open");
    },
  },
  {
    name: "an idle client with heartbeatMs 0 neither pings nor disconnects",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet({ heartbeatMs: 0 });
      world.advance(3_600_000);
      equal([client.state, world.socket.sent], ["open", []]);
    },
  },
  {
    name: "an online event makes the client probe an open connection immediately and leave it when the peer does not respond",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet({ heartbeatMs: 0 });
      world.wake();
      world.wake();
      equal(world.socket.sent, [{ type: "$ws:ping" }]);
      world.advance(20);
      world.socket.deliver("$ws:pong");
      world.advance(5_000);
      equal(client.state, "open");
      world.wake();
      world.advance(4_999);
      equal(client.state, "open");
      world.advance(1);
      equal(client.state, "reconnecting");
    },
  },
];
