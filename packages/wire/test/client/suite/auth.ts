/** The token: where the client sends it, when it calls getToken, and where the token must never appear. */
import { type Case, equal, failure, ok, settle, until } from "../kit.ts";

const searchOf = (url: string): URLSearchParams => new URL(url, "ws://server").searchParams;

export const auth: readonly Case[] = [
  {
    name: "the client sends the token as the query parameter access_token by default and calls getToken on every connect",
    async run(kit) {
      const server = await kit.serve();
      let calls = 0;
      const client = kit.client({
        url: `${server.url}?keep=1`,
        auth: { getToken: async () => `token-${++calls}` },
      });
      await client.connect();
      await server.terminate();
      const seen = (await server.connections(2)).map(({ url }) => searchOf(url));
      equal(
        seen.map((query) => [query.get("keep"), query.get("access_token")]),
        [
          ["1", "token-1"],
          ["1", "token-2"],
        ],
      );
    },
  },
  {
    name: "queryParam names another parameter, and the client encodes the token",
    async run(kit) {
      const server = await kit.serve();
      await kit.client({ url: server.url, auth: { queryParam: "t", getToken: () => "a b&c=ü" } }).connect();
      const [first] = await server.connections(1);
      const query = searchOf(first?.url ?? "");
      equal([query.get("t"), query.has("access_token")], ["a b&c=ü", false]);
    },
  },
  {
    name: "null from getToken means no token",
    async run(kit) {
      const server = await kit.serve();
      for (const attach of ["query", "protocol"] as const)
        await kit.client({ url: server.url, auth: { attach, getToken: () => null } }).connect();
      equal(
        (await server.connections(2)).map(({ url, protocols }) => [url, protocols]),
        [
          ["/", ["halyard.v1.json"]],
          ["/", ["halyard.v1.json"]],
        ],
      );
    },
  },
  {
    name: "attach protocol offers bearer.<token> after or before the other protocols and does not change the URL",
    async run(kit) {
      const server = await kit.serve();
      const { url } = server;
      const getToken = (): string => "tok.en-1";
      const offer = { attach: "protocol", getToken } as const;
      await kit.client({ url, protocols: ["chat.v1"], auth: offer }).connect();
      await kit
        .client({ url, protocols: ["chat.v1"], auth: { ...offer, protocolPosition: "prepend" } })
        .connect();
      await kit
        .client({ url, auth: { ...offer, protocolPrefix: "jwt.", protocolPosition: "append" } })
        .connect();
      const seen = await server.connections(3);
      equal(
        seen.map(({ protocols }) => protocols),
        [
          ["chat.v1", "halyard.v1.json", "bearer.tok.en-1"],
          ["bearer.tok.en-1", "chat.v1", "halyard.v1.json"],
          ["halyard.v1.json", "jwt.tok.en-1"],
        ],
      );
      ok(
        seen.every((connection) => connection.url === "/"),
        "no token in the URL",
      );
    },
  },
  {
    name: "a getToken that throws or rejects is reported as a failed attempt, and the client tries again",
    async run(kit) {
      const { client, world } = kit.imagined({
        reconnect: { jitter: "none" },
        auth: {
          getToken: () => {
            if (++calls === 1) throw new Error("offline");
            return calls === 2 ? Promise.reject(new Error("still offline")) : "token";
          },
        },
      });
      let calls = 0;
      const causes: unknown[] = [];
      client.onError((error, { type }) => causes.push([type, error.code, String(error.cause)]));
      const connected = client.connect();
      await settle();
      equal([client.state, world.sockets.length], ["reconnecting", 0]);
      world.advance(300);
      await settle();
      world.advance(600);
      await settle();
      world.socket.greet();
      await connected;
      equal(causes, [
        ["unknown", "UNAVAILABLE", "Error: offline"],
        ["unknown", "UNAVAILABLE", "Error: still offline"],
      ]);
    },
  },
  {
    name: "a token that is not valid in a subprotocol is a failed attempt, and the error names the cause but not the token",
    async run(kit) {
      const { client, world } = kit.imagined({
        reconnect: { maxAttempts: 0 },
        auth: { attach: "protocol", getToken: () => "se cret" },
      });
      const errors: unknown[] = [];
      client.onError((error) => errors.push(error));
      const error = await failure(client.connect());
      equal([error.code, world.sockets.length], ["UNAVAILABLE", 0]);
      const texts = [error, ...errors].map((each) => `${each} ${JSON.stringify(each)}`).join();
      ok(texts.includes("subprotocol") && !texts.includes("se cret"), "the cause, not the token");
    },
  },
  {
    name: "a refused token closes the client after one attempt and appears in no error",
    async run(kit) {
      for (const attach of ["query", "protocol"] as const) {
        const server = await kit.serve({ refuse: { code: 4401, reason: "not authenticated" } });
        const client = kit.client({ url: server.url, auth: { attach, getToken: () => "bad-token-123" } });
        const errors: unknown[] = [];
        client.onError((error) => errors.push(error));
        const error = await failure(client.connect());
        equal([error.code, client.state], ["UNAUTHENTICATED", "closed"]);
        const texts = [error, ...errors].map((each) => `${each} ${JSON.stringify(each)}`).join();
        ok(!texts.includes("bad-token-123"), "the token is in no error");
        equal((await server.received()).connections.length, 1);
      }
    },
  },
  {
    name: "a client that is closed while getToken runs opens no socket afterwards",
    async run(kit) {
      let give: (token: string) => void = () => undefined;
      const token = new Promise<string>((resolve) => {
        give = resolve;
      });
      const { client, world } = kit.imagined({ auth: { getToken: () => token } });
      const connected = failure(client.connect());
      await client.close();
      give("late");
      await connected;
      await settle();
      equal([client.state, world.sockets.length], ["closed", 0]);
    },
  },
  {
    name: "the client sends a new token by $ws:auth at 80 % of the lifetime, measured by the server's clock",
    async run(kit) {
      let calls = 0;
      const { client, world } = kit.imagined({ auth: { getToken: () => `token-${++calls}` } });
      void client.connect();
      await settle();
      world.socket.greet({ expiresAt: 5_000_000 + 10_000 }, { timestamp: 5_000_000 });
      world.advance(7_999);
      await settle();
      equal(calls, 1);
      world.advance(1);
      await settle();
      equal(world.socket.sent, [{ type: "$ws:auth", meta: {}, payload: { token: "token-2" } }]);
      world.socket.deliver("$ws:auth", { expiresAt: 6_000_000 + 1_000 }, { timestamp: 6_000_000 });
      world.advance(800);
      await settle();
      equal(world.socket.sent.length, 2);
      world.socket.deliver("$ws:auth", {}, { timestamp: 6_000_000 });
      equal(world.timers, []);
    },
  },
  {
    name: "the client sends no new token without expiresAt or without getToken",
    async run(kit) {
      const one = kit.imagined({ auth: { getToken: () => "t" } });
      void one.client.connect();
      await settle();
      one.world.socket.greet();
      const two = kit.imagined();
      void two.client.connect();
      two.world.socket.greet({ expiresAt: 5_010 }, { timestamp: 5_000 });
      equal([one.world.timers, two.world.timers], [[], []]);
    },
  },
  {
    name: "a getToken that fails at renewal is reported and retried while the old token is valid",
    async run(kit) {
      let calls = 0;
      const { client, world } = kit.imagined({
        auth: {
          getToken: async () => {
            if (++calls === 2) throw new Error("tunnel");
            return `token-${calls}`;
          },
        },
      });
      const errors: string[] = [];
      client.onError((error) => errors.push(`${error.code} ${error.cause}`));
      void client.connect();
      await settle();
      world.socket.greet({ expiresAt: 110_000 }, { timestamp: 10_000 });
      world.advance(80_000);
      await settle();
      equal([errors, world.socket.sent.length], [["UNAVAILABLE Error: tunnel"], 0]);
      world.advance(16_000);
      await settle();
      equal(
        world.socket.sent.map(({ payload }) => payload),
        [{ token: "token-3" }],
      );
    },
  },
  {
    name: "a token that arrives after the connection was lost is not sent over the next one",
    async run(kit) {
      let calls = 0;
      let give: (token: string) => void = () => undefined;
      const { client, world } = kit.imagined({
        reconnect: { jitter: "none" },
        auth: {
          getToken: () =>
            ++calls === 2
              ? new Promise<string>((resolve) => {
                  give = resolve;
                })
              : `token-${calls}`,
        },
      });
      void client.connect();
      await settle();
      world.socket.greet({ expiresAt: 2_000 }, { timestamp: 1_000 });
      world.advance(800);
      await settle();
      world.socket.end();
      world.advance(300);
      await settle();
      world.socket.greet();
      give("token-2");
      await settle();
      equal([calls, world.sockets.length, world.socket.sent], [3, 2, []]);
    },
  },
  {
    name: "a server cannot make the client call getToken in a loop",
    async run(kit) {
      let calls = 0;
      const { client, world } = kit.imagined({ auth: { getToken: () => `token-${++calls}` } });
      void client.connect();
      await settle();
      world.socket.greet({ expiresAt: 1 }, { timestamp: 5_000 });
      for (let i = 0; i < 1_000; i++)
        world.socket.deliver("$ws:auth", { expiresAt: 1 }, { timestamp: 5_000 });
      world.advance(99);
      await settle();
      equal(calls, 1);
      world.advance(1);
      await settle();
      equal(calls, 2);
    },
  },
  {
    name: "the renewed token reaches the server before the old one expires, over a real connection",
    async run(kit) {
      const server = await kit.serve({ hello: { expiresAt: Date.now() + 700 } });
      let calls = 0;
      const client = kit.client({ url: server.url, auth: { getToken: () => `token-${++calls}` } });
      await client.connect();
      const [frame] = await server.frames("$ws:auth", 1);
      equal(frame?.payload, { token: "token-2" });
      await until(() => client.isConnected, "still open");
    },
  },
];
