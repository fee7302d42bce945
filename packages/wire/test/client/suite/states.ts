/** The states of the client and the transitions between them. */
import { type Case, ECHOING, equal, failure, ok, statesOf, until } from "../kit.ts";

export const states: readonly Case[] = [
  {
    name: "connect and close go through connecting, open, closing and closed, and state shows each immediately",
    async run(kit) {
      const server = await kit.serve();
      const client = kit.client({ url: server.url });
      const states = statesOf(client);
      equal([client.state, client.isConnected, client.protocol], ["closed", false, ""]);
      const connected = client.connect();
      equal(client.state, "connecting");
      await connected;
      equal([client.state, client.isConnected, client.protocol], ["open", true, "halyard.v1.json"]);
      const closed = client.close();
      equal(client.state, "closing");
      await closed;
      equal([client.state, client.isConnected, client.protocol], ["closed", false, ""]);
      equal(states, ["connecting", "open", "closing", "closed"]);
    },
  },
  {
    name: "the client reconnects by itself after a lost connection",
    async run(kit) {
      const server = await kit.serve(ECHOING);
      const client = kit.client({ url: server.url });
      const states = statesOf(client);
      await client.connect();
      await server.terminate();
      await until(() => states.includes("reconnecting") && client.isConnected, "open again");
      equal(states, ["connecting", "open", "reconnecting", "open"]);
      equal((await client.request(kit.schemas.Echo, { text: "again" })).payload.text, "again");
    },
  },
  {
    name: "a failed first attempt leads to reconnecting, and connect waits until the client is open",
    async run(kit) {
      const { client, world } = kit.imagined({ reconnect: { jitter: "none" } });
      const states = statesOf(client);
      const connected = client.connect();
      world.socket.end();
      world.advance(300);
      equal(client.state, "reconnecting");
      world.socket.greet();
      await connected;
      equal(states, ["connecting", "reconnecting", "open"]);
    },
  },
  {
    name: "close ends connecting and reconnecting immediately, and connect rejects with UNAVAILABLE",
    async run(kit) {
      for (const isLost of [false, true]) {
        const { client, world } = kit.imagined();
        const connected = client.connect();
        if (isLost) world.socket.end();
        const closed = client.close();
        equal(client.state, "closed");
        await closed;
        equal((await failure(connected)).code, "UNAVAILABLE");
        ok(world.socket.readyState >= 2, "the socket is closed");
        equal([world.timers, world.wakers], [[], 0]);
      }
    },
  },
  {
    name: "a second connect joins the first attempt, and connect resolves immediately when the client is open",
    async run(kit) {
      const server = await kit.serve();
      const client = kit.client({ url: server.url });
      await Promise.all([client.connect(), client.connect(), client.onceOpen()]);
      await client.connect();
      equal((await server.received()).connections.length, 1);
    },
  },
  {
    name: "connect can be called again after close and opens a new connection",
    async run(kit) {
      const server = await kit.serve();
      const client = kit.client({ url: server.url });
      await client.connect();
      await client.close();
      await client.connect();
      equal([client.state, (await server.connections(2)).length], ["open", 2]);
    },
  },
  {
    name: "connect while closing waits for the close and opens a new connection, unless close is called after it",
    async run(kit) {
      const { client, world } = kit.imagined();
      const states = statesOf(client);
      void client.connect();
      world.socket.greet();
      const closed = client.close();
      const again = client.connect();
      equal([client.state, world.sockets.length], ["closing", 1]);
      world.socket.end(1000);
      await closed;
      await until(() => world.sockets.length === 2, "a second socket");
      world.socket.greet();
      await again;
      equal(states, ["connecting", "open", "closing", "closed", "connecting", "open"]);
      const last = [client.close(), client.connect(), client.close()] as const;
      world.socket.end(1000);
      equal((await failure(last[1])).code, "UNAVAILABLE");
      await Promise.all([last[0], last[2]]);
      equal([client.state, world.sockets.length], ["closed", 2]);
    },
  },
  {
    name: "close sends code 1000 by default, or the given code and reason",
    async run(kit) {
      const server = await kit.serve();
      const client = kit.client({ url: server.url });
      await client.connect();
      await client.close();
      await client.connect();
      await client.close({ code: 4000, reason: "bye" });
      const closes = await until(async () => {
        const { closes } = await server.received();
        return closes.length === 2 ? closes : undefined;
      }, "two closes");
      equal(
        closes.map(({ code, reason }) => [code, reason]),
        [
          [1000, ""],
          [4000, "bye"],
        ],
      );
    },
  },
  {
    name: "close refuses a code or reason that a client may not send, and the state does not change",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet();
      for (const options of [
        { code: 1001 },
        { code: 2999 },
        { code: 5000 },
        { code: Number.NaN },
        { reason: "é".repeat(62) },
      ])
        equal((await failure(client.close(options))).code, "INVALID_ARGUMENT");
      equal(client.state, "open");
    },
  },
  {
    name: "close resolves after two seconds when the peer does not respond, and immediately when closed",
    async run(kit) {
      const { client, world } = kit.imagined();
      await client.close();
      void client.connect();
      world.socket.greet();
      const closed = client.close();
      world.advance(1_999);
      equal(client.state, "closing");
      world.advance(1);
      await closed;
      equal(client.state, "closed");
    },
  },
  {
    name: "a message that arrives while closing is not delivered",
    async run(kit) {
      const { client, world } = kit.imagined();
      const got: unknown[] = [];
      client.on(kit.schemas.Note, (payload) => got.push(payload));
      client.onUnhandled((message) => got.push(message));
      void client.connect();
      world.socket.greet();
      void client.close();
      world.socket.readyState = 1;
      world.socket.deliver("NOTE", { text: "late" });
      equal(got, []);
    },
  },
  {
    name: "onceOpen resolves immediately when open, otherwise at the next open, after any failures and closes",
    async run(kit) {
      const { client, world } = kit.imagined();
      let opened = 0;
      void client.onceOpen().then(() => opened++);
      void client.connect().catch(() => undefined);
      world.socket.end(4401);
      await client.close();
      equal(opened, 0);
      void client.connect();
      world.socket.greet();
      await client.onceOpen();
      await until(() => opened === 1, "the first onceOpen");
    },
  },
  {
    name: "onState reports changes only and returns an unsubscribe function",
    async run(kit) {
      const { client, world } = kit.imagined();
      const states: string[] = [];
      const stop = client.onState((state) => states.push(state));
      void client.connect();
      void client.connect();
      world.socket.greet();
      world.socket.greet();
      equal(states, ["connecting", "open"]);
      stop();
      world.socket.end();
      equal(states, ["connecting", "open"]);
    },
  },
  {
    name: "an onState callback may connect, close, send and throw, and the other callbacks still run",
    async run(kit) {
      const { client, world } = kit.imagined();
      const states: string[] = [];
      const errors: string[] = [];
      client.onError((error) => errors.push(error.message));
      client.onState((state) => {
        states.push(state);
        if (state === "open") client.send(kit.schemas.Note, { text: "hi" });
        if (state === "open" && states.length < 4) void client.close();
        if (state === "closed" && states.length < 6) client.connect().catch(() => undefined);
        throw new Error(`no ${state}`);
      });
      const seen = statesOf(client);
      void client.connect();
      world.socket.greet();
      equal(
        world.socket.sent.map(({ type }) => type),
        ["NOTE"],
      );
      world.socket.end(1000);
      world.socket.greet();
      equal(seen, ["connecting", "open", "closing", "closed", "connecting", "open"]);
      equal(seen, states);
      equal(
        errors,
        seen.map((state) => `no ${state}`),
      );
    },
  },
  ...[1008, 4401, 4403].map(
    (code): Case => ({
      name: `close code ${code} closes an open client without another attempt`,
      async run(kit) {
        const { client, world } = kit.imagined();
        const errors: string[] = [];
        client.onError((error, { type }) => errors.push(`${type} ${error.code}`));
        void client.connect();
        world.socket.greet();
        world.socket.end(code, "no");
        equal([client.state, world.timers], ["closed", []]);
        equal(errors, [`unknown ${code === 4401 ? "UNAUTHENTICATED" : "PERMISSION_DENIED"}`]);
      },
    }),
  ),
  {
    name: "a refused connection rejects connect with UNAUTHENTICATED for 4401 and PERMISSION_DENIED for 1008 and 4403",
    async run(kit) {
      for (const [code, expected] of [
        [4401, "UNAUTHENTICATED"],
        [1008, "PERMISSION_DENIED"],
        [4403, "PERMISSION_DENIED"],
      ] as const) {
        const server = await kit.serve({ refuse: { code, reason: "no" } });
        const client = kit.client({ url: server.url });
        const states = statesOf(client);
        equal((await failure(client.connect())).code, expected);
        equal(states, ["connecting", "closed"]);
        equal((await server.received()).connections.length, 1);
      }
    },
  },
  {
    name: "a server that selects halyard.v1.json and sends no hello within 10 s is a failed attempt",
    async run(kit) {
      const { client, world } = kit.imagined();
      client.connect().catch(() => undefined);
      world.advance(9_000);
      world.socket.accept();
      world.advance(9_999);
      equal(client.state, "connecting");
      world.advance(1);
      equal(client.state, "reconnecting");
      ok(world.socket.readyState >= 2, "the socket is closed");
    },
  },
  {
    name: "an attempt without a response for 10 s has failed",
    async run(kit) {
      const { client, world } = kit.imagined();
      client.connect().catch(() => undefined);
      world.advance(10_000);
      equal(client.state, "reconnecting");
      world.socket.accept();
      equal(client.state, "reconnecting");
    },
  },
  {
    name: "events of an abandoned socket have no effect",
    async run(kit) {
      const { client, world } = kit.imagined({ reconnect: { jitter: "none" } });
      const got: unknown[] = [];
      client.onUnhandled((message) => got.push(message));
      client.connect().catch(() => undefined);
      world.advance(10_300);
      const [old] = world.sockets;
      world.socket.greet();
      if (old) old.readyState = 1;
      old?.deliver("NOTE", { text: "stale" });
      old?.deliver("$ws:drain");
      old?.end(4401);
      equal([got, client.state, world.sockets.length], [[], "open", 2]);
    },
  },
  {
    name: "the backoff restarts only after the connection was open for maxDelayMs",
    async run(kit) {
      const { client, world } = kit.imagined({
        reconnect: { jitter: "none", maxDelayMs: 2_000, maxAttempts: 3 },
      });
      client.connect().catch(() => undefined);
      const flap = (openMs: number): number | undefined => {
        world.socket.greet();
        world.advance(openMs);
        world.socket.end();
        const [wait] = world.timers;
        world.advance(wait ?? 0);
        return wait;
      };
      equal([flap(1_999), flap(1_999), flap(2_000), flap(0)], [300, 600, 300, 600]);
      equal([flap(0), flap(0), client.state], [1_200, undefined, "closed"]);
    },
  },
  {
    name: "reconnect attempts are spread out when the connection is lost repeatedly",
    async run(kit) {
      const server = await kit.serve({ lifeMs: 5 });
      const reconnect = { initialDelayMs: 30, maxDelayMs: 2_000, jitter: "none" } as const;
      kit
        .client({ url: server.url, reconnect })
        .connect()
        .catch(() => undefined);
      const arrivals = await server.connections(5);
      const gaps = arrivals.slice(1, 5).map(({ at }, i) => at - (arrivals[i]?.at ?? 0));
      for (const [i, atLeast] of [30, 60, 120, 240].entries())
        ok((gaps[i] ?? 0) >= atLeast - 2, `the gaps are ${gaps.map(Math.round).join(", ")} ms`);
    },
  },
  {
    name: "the client waits for the retryAfterMs in the reason of 1012 or 1013, also when the network returns",
    async run(kit) {
      const { client, world } = kit.imagined({ reconnect: { jitter: "none", initialDelayMs: 10 } });
      client.connect().catch(() => undefined);
      world.socket.end(1013, "retryAfterMs=4000");
      world.wake();
      equal([world.sockets.length, world.timers], [1, [4_010]]);
      world.advance(4_010);
      equal(world.sockets.length, 2);
    },
  },
  {
    name: "an online event ends the wait and restarts the backoff",
    async run(kit) {
      const { client, world } = kit.imagined({ reconnect: { jitter: "none" } });
      client.connect().catch(() => undefined);
      for (let i = 0; i < 6; i++) {
        world.socket.end();
        if (i < 5) world.advance(world.timers[0] ?? 0);
      }
      equal(world.timers, [9_600]);
      const made = world.sockets.length;
      world.wake();
      equal(world.sockets.length, made + 1);
      world.socket.end();
      equal(world.timers, [300]);
    },
  },
];
