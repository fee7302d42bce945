/** The options of `wsClient` and their defaults. */
import { type Case, ECHOING, equal, errorsOf, failure, ok, settle, statesOf, until } from "../kit.ts";

export const options: readonly Case[] = [
  {
    name: "url may be a string or a URL",
    async run(kit) {
      const server = await kit.serve();
      for (const url of [`${server.url}a?b=1`, new URL(`${server.url}a?b=1`)])
        await kit.client({ url }).connect();
      equal(
        (await server.connections(2)).map(({ url }) => url),
        ["/a?b=1", "/a?b=1"],
      );
    },
  },
  {
    name: "an invalid url rejects connect with INVALID_ARGUMENT without an attempt",
    async run(kit) {
      const { client, world } = kit.imagined();
      equal((await failure(kit.client({ url: "http://[" }).connect())).code, "INVALID_ARGUMENT");
      equal([client.state, world.sockets.length], ["closed", 0]);
    },
  },
  {
    name: "protocols are offered before halyard.v1.json, and none is offered twice",
    async run(kit) {
      const server = await kit.serve();
      await kit.client({ url: server.url }).connect();
      await kit.client({ url: server.url, protocols: "chat.v1" }).connect();
      await kit.client({ url: server.url, protocols: ["chat.v2", "chat.v1", "chat.v2"] }).connect();
      equal(
        (await server.connections(3)).map(({ protocols }) => protocols),
        [["halyard.v1.json"], ["chat.v1", "halyard.v1.json"], ["chat.v2", "chat.v1", "halyard.v1.json"]],
      );
    },
  },
  {
    name: "the client is open with hello when the server selects any subprotocol, and immediately when it selects none",
    async run(kit) {
      const server = await kit.serve({ protocol: "chat.v1" });
      const client = kit.client({ url: server.url, protocols: "chat.v1" });
      await client.connect();
      equal([client.state, client.protocol], ["open", "chat.v1"]);
      const { client: waiting, world } = kit.imagined({ protocols: "chat.v1" });
      void waiting.connect();
      world.socket.accept("chat.v1");
      equal(waiting.state, "connecting");
      world.socket.greet();
      equal(waiting.state, "open");
      const plain = kit.imagined();
      void plain.client.connect();
      plain.world.socket.accept("");
      equal(plain.client.state, "open");
    },
  },
  {
    name: "reconnect is on by default: 300 ms doubled up to 10,000 with jitter, without a limit of attempts",
    async run(kit) {
      const { client, world } = kit.imagined();
      world.chance = 0.5;
      client.connect().catch(() => undefined);
      const waits: number[] = [];
      for (let i = 0; i < 40; i++) {
        world.socket.end();
        equal(client.state, "reconnecting");
        const [wait = 0] = world.timers;
        waits.push(wait);
        world.advance(wait);
        equal(world.sockets.length, i + 2);
      }
      equal(waits.slice(0, 8), [150, 300, 600, 1_200, 2_400, 4_800, 5_000, 5_000]);
      equal(waits.at(-1), 5_000);
    },
  },
  {
    name: "reconnect.initialDelayMs, maxDelayMs and jitter set the delays",
    async run(kit) {
      const reconnect = { initialDelayMs: 50, maxDelayMs: 200, jitter: "none" } as const;
      const { client, world } = kit.imagined({ reconnect });
      client.connect().catch(() => undefined);
      const waits = [0, 1, 2, 3].map(() => {
        world.socket.end();
        const [wait = 0] = world.timers;
        world.advance(wait);
        return wait;
      });
      equal(waits, [50, 100, 200, 200]);
    },
  },
  {
    name: "an explicit undefined counts as an absent option",
    async run(kit) {
      const reconnect = {
        initialDelayMs: undefined,
        maxDelayMs: undefined,
        jitter: undefined,
        enabled: undefined,
      };
      const { client, world } = kit.imagined({ reconnect, queueSize: undefined, queue: undefined } as never);
      equal(client.send(kit.schemas.Note, { text: "x" }), false);
      client.connect().catch(() => undefined);
      world.socket.end();
      equal(world.timers[0], 150);
    },
  },
  {
    name: "a lost connection or a failed attempt closes the client when reconnect.enabled is false",
    async run(kit) {
      const server = await kit.serve();
      const client = kit.client({ url: server.url, reconnect: { enabled: false } });
      const states = statesOf(client);
      await client.connect();
      await server.terminate();
      await until(() => client.state === "closed", "closed");
      equal(states, ["connecting", "open", "closed"]);
      await server.stop();
      equal((await failure(client.connect())).code, "UNAVAILABLE");
      equal(client.state, "closed");
    },
  },
  {
    name: "reconnect.maxAttempts counts attempts after the first failure, and then connect rejects",
    async run(kit) {
      const server = await kit.serve({ refuse: { code: 1006, reason: "" } });
      const client = kit.client({
        url: server.url,
        reconnect: { maxAttempts: 2, initialDelayMs: 1, jitter: "none" },
      });
      const states = statesOf(client);
      const error = await failure(client.connect());
      equal([error.code, error.retryable], ["UNAVAILABLE", true]);
      equal((await server.received()).connections.length, 3);
      equal(states, ["connecting", "reconnecting", "closed"]);
    },
  },
  {
    name: "queueSize is 1000 and queue is drop-newest by default",
    async run(kit) {
      const { client, world } = kit.imagined();
      const errors = errorsOf(client);
      for (let i = 0; i < 1_001; i++) equal(client.send(kit.schemas.Note, { text: `${i}` }), false);
      equal(errors, [["overflow", "RESOURCE_EXHAUSTED"]]);
      void client.connect();
      world.socket.greet();
      equal(world.socket.sent.length, 1_000);
      equal(world.socket.sent.at(-1)?.payload, { text: "999" });
    },
  },
  {
    name: "autoConnect is false by default, and the client does not connect by itself",
    async run(kit) {
      const { client, world } = kit.imagined();
      client.send(kit.schemas.Note, { text: "x" });
      client.request(kit.schemas.Slow).catch(() => undefined);
      equal([client.state, world.sockets.length], ["closed", 0]);
    },
  },
  {
    name: "autoConnect true connects with the first send or request, and only with the first",
    async run(kit) {
      const server = await kit.serve(ECHOING);
      const client = kit.client({ url: server.url, autoConnect: true });
      equal((await client.request(kit.schemas.Echo, { text: "x" })).payload.text, "x");
      await client.close();
      client.send(kit.schemas.Note, { text: "later" });
      equal(client.state, "closed");
      const sender = kit.client({ url: server.url, autoConnect: true });
      equal(sender.send(kit.schemas.Note, { text: "sent" }), false);
      equal((await server.frames("NOTE", 1))[0]?.payload, { text: "sent" });
    },
  },
  {
    name: "pendingRequestsLimit is 1000 by default and counts queued requests",
    async run(kit) {
      const { client } = kit.imagined({ queueSize: 5_000 });
      const requests = Array.from({ length: 1_000 }, () => client.request(kit.schemas.Slow));
      equal((await failure(client.request(kit.schemas.Slow))).code, "RESOURCE_EXHAUSTED");
      await client.close();
      const settled = await Promise.allSettled(requests);
      ok(
        settled.every(({ status }) => status === "rejected"),
        "close rejects all of them",
      );
    },
  },
  {
    name: "wsFactory creates the socket from the URL and the offered protocols",
    async run(kit) {
      const { client, world } = kit.imagined();
      const made: unknown[] = [];
      const own = kit.client({
        url: "ws://elsewhere/x",
        protocols: "chat.v1",
        wsFactory: (url, protocols) => {
          made.push([url, protocols]);
          return new world.WebSocket(url, protocols);
        },
      });
      const connected = own.connect();
      equal(made, [["ws://elsewhere/x", ["chat.v1", "halyard.v1.json"]]]);
      world.socket.greet();
      await connected;
      equal([own.state, client.state], ["open", "closed"]);
      const closed = own.close();
      world.socket.end();
      await closed;
    },
  },
  {
    name: "a wsFactory that throws is a failed attempt, and the reported error does not repeat its message",
    async run(kit) {
      let calls = 0;
      const { world } = kit.imagined();
      const client = kit.client({
        url: "ws://elsewhere/?access_token=secret",
        wsFactory: (url, protocols) => {
          if (++calls === 1) throw new SyntaxError(`bad ${url}`);
          return new world.WebSocket(url, protocols);
        },
      });
      const errors: string[] = [];
      client.onError((error) => errors.push(`${error.code} ${error.message} ${JSON.stringify(error)}`));
      const connected = client.connect();
      await until(() => world.sockets.length === 1, "a second attempt");
      world.socket.greet();
      await connected;
      equal(errors.length, 1);
      ok(
        errors[0]?.includes("SyntaxError") && !errors[0].includes("secret"),
        "the report contains the error and not the URL",
      );
      const closed = client.close();
      world.socket.end();
      await closed;
    },
  },
  {
    name: "unknownKeys is reject by default: the client refuses a message with an unknown key",
    async run(kit) {
      const { client, world } = kit.imagined();
      const { Note } = kit.schemas;
      const errors = errorsOf(client);
      const got: unknown[] = [];
      client.on(Note, (payload) => got.push(payload));
      void client.connect();
      world.socket.greet();
      world.socket.deliver("NOTE", { text: "x", more: 1 });
      world.socket.deliver("NOTE", { text: "x" }, { more: 1 });
      world.socket.raw('{"type":"NOTE","meta":{},"payload":{"text":"x"},"more":1}');
      equal([got, errors.map(([type]) => type)], [[], ["validation", "validation", "parse"]]);
      await settle();
    },
  },
  {
    name: "unknownKeys strip removes unknown keys from the frame, meta and payload, also of responses",
    async run(kit) {
      const { client, world } = kit.imagined({ unknownKeys: "strip" });
      const { Note, Tagged, Bare, Echo } = kit.schemas;
      const errors = errorsOf(client);
      const got: unknown[] = [];
      client.on(Note, (payload, meta) => got.push([payload, meta]));
      client.on(Tagged, (payload, meta) => got.push([payload, meta]));
      client.on(Bare, (payload, meta) => got.push([payload, meta]));
      void client.connect();
      world.socket.greet();
      const answer = client.request(Echo, { text: "q" }, { correlationId: "1" });
      world.socket.raw(
        '{"type":"NOTE","meta":{"timestamp":1,"n":1},"payload":{"text":"x","more":1},"new":1}',
      );
      world.socket.deliver("TAGGED", { text: "y" }, { room: "r", more: 1 });
      world.socket.deliver("BARE", { more: 1 });
      world.socket.deliver("NOTE", { text: 1, more: 1 });
      world.socket.deliver("ECHO_OK", { text: "a", more: 1 }, { correlationId: "1", more: 1 });
      equal(got, [
        [{ text: "x" }, { timestamp: 1 }],
        [{ text: "y" }, { room: "r" }],
        [undefined, {}],
      ]);
      equal((await answer).payload, { text: "a" });
      equal(errors, [["validation", "INVALID_ARGUMENT"]]);
    },
  },
];
