/** Messages of the server: handlers, what nobody takes, errors, control frames. */
import { type Case, ECHOING, equal, errorsOf, failure, ok, settle, until } from "../kit.ts";

export const messages: readonly Case[] = [
  {
    name: "send is true when it goes out at once, on gives the payload, and both survive the wire [Client: send, on]",
    async run(kit) {
      const server = await kit.serve();
      const client = kit.client({ url: server.url });
      const got: unknown[] = [];
      client.on(kit.schemas.Note, (payload) => got.push(payload));
      await client.connect();
      equal(client.send(kit.schemas.Note, { text: "ü" }), true);
      equal((await server.frames("NOTE", 1))[0]?.payload, { text: "ü" });
      await server.say("NOTE", { text: "back" }, { timestamp: 1 });
      await until(() => got.length === 1, "the message");
      equal(got, [{ text: "back" }]);
    },
  },
  {
    name: "send passes meta and correlationId on [Client: send]",
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
    name: "a handler also gets the meta, with the fields its schema declares [Client: on]",
    async run(kit) {
      const { client, world } = kit.imagined();
      const got: unknown[] = [];
      client.on(kit.schemas.Tagged, (payload, meta) => got.push([payload, meta]));
      void client.connect();
      world.socket.greet();
      world.socket.say(
        "TAGGED",
        { text: "x" },
        { timestamp: 7, room: "r", $t: "topic", $o: 3, clientId: "c" },
      );
      equal(got, [[{ text: "x" }, { timestamp: 7, room: "r" }]]);
    },
  },
  {
    name: "several handlers of one type all run, in order; each has its own function to end it [Client: on]",
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
      world.socket.say("NOTE", { text: "x" });
      stop();
      stop();
      world.socket.say("NOTE", { text: "x" });
      equal(log, ["a", "b", "b"]);
    },
  },
  {
    name: "a handler that throws or rejects is reported as unknown and stops neither the others nor the client [Client: on]",
    async run(kit) {
      const { client, world } = kit.imagined();
      const { Note } = kit.schemas;
      const heard: unknown[] = [];
      client.onError((error, { type }) => heard.push([type, error.code, error.message]));
      client.on(Note, () => {
        throw new Error("one");
      });
      client.on(Note, async () => {
        throw new Error("two");
      });
      client.on(Note, ({ text }) => heard.push(text));
      void client.connect();
      world.socket.greet();
      world.socket.say("NOTE", { text: "three" });
      await settle();
      equal(heard, ["three", ["unknown", "INTERNAL", "one"], ["unknown", "INTERNAL", "two"]]);
      equal(client.state, "open");
    },
  },
  {
    name: "onUnhandled gets the whole message no handler took, and never a control frame [Client: onUnhandled]",
    async run(kit) {
      const { client, world } = kit.imagined();
      const got: unknown[] = [];
      const stop = client.onUnhandled((message) => got.push(message));
      client.on(kit.schemas.Note, () => undefined);
      void client.connect();
      world.socket.greet();
      for (const type of ["$ws:from-the-future", "$ws:pong", "$ws:subscribed", "NOTE", "OTHER"])
        world.socket.say(type, { text: "x" }, { timestamp: 1 });
      equal(got, [{ type: "OTHER", meta: { timestamp: 1 }, payload: { text: "x" } }]);
      stop();
      world.socket.say("OTHER");
      equal(got.length, 1);
    },
  },
  {
    name: "onError: parse, validation and unknown, and the message goes to no handler [Client: onError]",
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
      await server.say("NOTE", { text: 1 });
      await server.say("$ws:error", { code: "NOT_FOUND", message: "?" });
      await server.say("$ws:error", { code: "ABORTED" }, { correlationId: "nobody" });
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
    name: "the functions of onError and onUnhandled end them; a callback of onError may throw [Client: onError]",
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
    name: "the same callback registered twice runs twice and is taken out once at a time [Client: onState]",
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
    name: "a $ws:sync marker is echoed after everything before it was handled [Decisions: Control types]",
    async run(kit) {
      const server = await kit.serve();
      const client = kit.client({ url: server.url });
      await client.connect();
      await server.say("$ws:sync", { id: "marker-1" });
      equal((await server.frames("$ws:synced", 1))[0]?.payload, { id: "marker-1" });
    },
  },
  {
    name: "onGap tells that something published did not arrive, with topic and reason [Decisions: Control types]",
    async run(kit) {
      const { client, world } = kit.imagined();
      const gaps: unknown[] = [];
      const stop = client.onGap((gap) => gaps.push(gap));
      void client.connect();
      world.socket.greet();
      world.socket.say("$ws:gap", { reason: "shed" });
      world.socket.say("$ws:gap", { topic: "room:1", reason: "bus" });
      stop();
      world.socket.say("$ws:gap", { reason: "shed" });
      equal(gaps, [{ reason: "shed" }, { topic: "room:1", reason: "bus" }]);
    },
  },
  {
    name: "on $ws:drain new messages wait, requests in flight are answered, then the client moves on after the delay [Decisions: Client states]",
    async run(kit) {
      const { client, world } = kit.imagined({ reconnect: { jitter: "none", initialDelayMs: 10 } });
      const { Echo, Note } = kit.schemas;
      void client.connect();
      world.socket.greet();
      const first = client.request(Echo, { text: "first" }, { correlationId: "1" });
      const old = world.socket;
      old.say("$ws:drain", { retryAfterMs: 200 });
      equal([client.state, client.send(Note, { text: "waits" })], ["open", false]);
      const second = client.request(Echo, { text: "second" }, { correlationId: "2" });
      equal([old.sent.length, old.readyState], [1, 1]);
      old.say("ECHO_OK", { text: "first" }, { correlationId: "1" });
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
      world.socket.say("ECHO_OK", { text: "second" }, { correlationId: "2" });
      equal((await second).payload.text, "second");
    },
  },
  {
    name: "on $ws:drain a client with nothing in flight leaves at once; one that is cut off before loses what was in flight [Decisions: Client states]",
    async run(kit) {
      const idle = kit.imagined();
      void idle.client.connect();
      idle.world.socket.greet();
      idle.world.socket.say("$ws:drain", {});
      equal([idle.client.state, idle.world.socket.readyState], ["reconnecting", 2]);
      const busy = kit.imagined();
      void busy.client.connect();
      busy.world.socket.greet();
      const asked = failure(busy.client.request(kit.schemas.Slow));
      busy.world.socket.say("$ws:drain", { retryAfterMs: 50 });
      busy.world.socket.end(1012, "retryAfterMs=50");
      equal([(await asked).code, busy.client.state], ["UNAVAILABLE", "reconnecting"]);
    },
  },
  {
    name: "through a draining server, a request made meanwhile arrives once, at the next connection [Decisions: Client states]",
    async run(kit) {
      const server = await kit.serve({ answers: { ECHO: { type: "ECHO_OK", afterMs: 60 } } });
      const client = kit.client({ url: server.url });
      await client.connect();
      const first = client.request(kit.schemas.Echo, { text: "first" });
      await server.frames("ECHO", 1);
      await server.say("$ws:drain", { retryAfterMs: 80 });
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
    name: "a client idle for heartbeatMs pings; a live peer keeps it open, a dead one is left after timeoutMs [Decisions: Liveness]",
    async run(kit) {
      // Long enough for any pong; the next ping comes only after it.
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
      await until(() => client.state === "reconnecting", "the dead link is left");
      const tookMs = performance.now() - openedAt;
      ok(tookMs >= 80 && tookMs < 5_000, `it took ${Math.round(tookMs)} ms`);
      equal((await request).code, "UNAVAILABLE");
    },
  },
  {
    name: "any frame counts as life: a client that hears something does not ping [Decisions: Liveness]",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet({ heartbeatMs: 1_000, timeoutMs: 500 });
      for (let i = 0; i < 5; i++) {
        world.advance(900);
        world.socket.say("OTHER");
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
    name: "timers that come far too late, as in a hidden tab, do not count against a peer that was never asked [Decisions: Liveness]",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet({ heartbeatMs: 1_000, timeoutMs: 500 });
      world.sleep(60_000);
      equal([client.state, world.socket.sent], ["open", [{ type: "$ws:ping" }]]);
      world.advance(499);
      world.socket.say("$ws:pong");
      world.advance(1);
      equal(client.state, "open");
    },
  },
  {
    name: "with heartbeatMs 0 an idle client neither pings nor leaves [Decisions: Liveness]",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet({ heartbeatMs: 0 });
      world.advance(3_600_000);
      equal([client.state, world.socket.sent], ["open", []]);
    },
  },
  {
    name: "coming back online probes an open link at once, and leaves it when no sign of life comes [Decisions: Liveness]",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet({ heartbeatMs: 0 });
      world.wake();
      world.wake();
      equal(world.socket.sent, [{ type: "$ws:ping" }]);
      world.advance(20);
      world.socket.say("$ws:pong");
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
