/** Requests: both forms, responses, errors and progress. */
import { type Case, ECHOING, equal, errorsOf, failure, ok, settle, thrownBy } from "../kit.ts";

export const requests: readonly Case[] = [
  {
    name: "request resolves to the whole response { type, meta, payload }",
    async run(kit) {
      const server = await kit.serve(ECHOING);
      const client = kit.client({ url: server.url });
      await client.connect();
      const answer = await client.request(kit.schemas.Echo, { text: "q" }, { correlationId: "id" });
      equal(Object.keys(answer).sort(), ["meta", "payload", "type"]);
      equal([answer.type, answer.payload, answer.meta.correlationId], ["ECHO_OK", { text: "q" }, "id"]);
      equal(typeof answer.meta.timestamp, "number");
    },
  },
  {
    name: "request accepts an explicit response schema, with options after it",
    async run(kit) {
      const server = await kit.serve({ answers: { TAGGED: { type: "NOTE", payload: { text: "yes" } } } });
      const client = kit.client({ url: server.url });
      await client.connect();
      const { Tagged, Note } = kit.schemas;
      const answer = await client.request(Tagged, { text: "q" }, Note, {
        meta: { room: "r" },
        timeoutMs: 9_000,
      });
      equal([answer.type, answer.payload], ["NOTE", { text: "yes" }]);
      const [frame] = await server.frames("TAGGED", 1);
      equal([frame?.meta["room"], frame?.meta["timeoutMs"]], ["r", 9_000]);
    },
  },
  {
    name: "a schema without response needs the explicit form, and the error says so",
    async run(kit) {
      const { client } = kit.imagined();
      const error = await failure(
        client.request(kit.schemas.Note as unknown as typeof kit.schemas.Echo, { text: "x" }),
      );
      equal(error.code, "INVALID_ARGUMENT");
      ok(error.message.includes("NOTE"), "it names the schema");
    },
  },
  {
    name: "the client generates a new correlationId for each request unless one is given",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet();
      for (const options of [{}, {}, { correlationId: "mine" }])
        client.request(kit.schemas.Slow, undefined, options).catch(() => undefined);
      const ids = world.socket.sent.map(({ meta }) => meta?.["correlationId"]);
      equal([new Set(ids).size, ids[2]], [3, "mine"]);
      ok(typeof ids[0] === "string", "an id");
    },
  },
  {
    name: "the client removes reserved meta, sends declared meta and adds its timestamp",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet();
      const { Tagged, Note } = kit.schemas;
      const meta = { room: "r", clientId: "evil", receivedAt: 1, $t: "topic" };
      client.request(Tagged, { text: "q" }, Note, { meta, correlationId: "a" }).catch(() => undefined);
      client.send(Tagged, { text: "q" }, { meta, correlationId: "b" });
      const timestamp = world.Date.now();
      equal(
        world.socket.sent.map((frame) => frame.meta),
        [
          { room: "r", timestamp, correlationId: "a", timeoutMs: 30_000 },
          { room: "r", timestamp, correlationId: "b" },
        ],
      );
    },
  },
  {
    name: "a request connects the client when autoConnect is on and no attempt was made",
    async run(kit) {
      const { client, world } = kit.imagined({ autoConnect: true });
      const answer = client.request(kit.schemas.Echo, { text: "x" }, { correlationId: "1" });
      equal(client.state, "connecting");
      world.socket.greet();
      world.socket.deliver("ECHO_OK", { text: "y" }, { correlationId: "1" });
      equal((await answer).payload.text, "y");
    },
  },
  {
    name: "a request is queued while the client is disconnected",
    async run(kit) {
      const { client, world } = kit.imagined();
      client.request(kit.schemas.Echo, { text: "x" }).catch(() => undefined);
      void client.connect();
      equal(world.socket.sent, []);
      world.socket.greet();
      equal(
        world.socket.sent.map(({ type }) => type),
        ["ECHO"],
      );
    },
  },
  {
    name: "a message that does not match its schema is not sent: request rejects and send throws INVALID_ARGUMENT",
    async run(kit) {
      const { client, world } = kit.imagined({ autoConnect: true });
      const { Echo, Note, Tagged, Bare, Slow } = kit.schemas;
      const bad = [
        client.request(Echo, { text: 1 } as never),
        client.request(Echo, { text: "q", more: 1 } as never),
        client.request(Echo, undefined as never),
        client.request(Slow, { text: "x" } as never),
        client.request(Tagged, { text: "q" }, Note, { meta: { room: 1 } as never }),
        client.request(Echo, { text: "q" }, { meta: { room: "r" } as never }),
        client.request(Echo, { text: "q" }, { timeoutMs: Number.POSITIVE_INFINITY }),
        client.request(Echo, { text: "q" }, { correlationId: "" }),
        client.request(Echo, { text: "q" }, { correlationId: "x".repeat(129) }),
      ];
      for (const request of bad) equal((await failure(request)).code, "INVALID_ARGUMENT");
      const issues = (await failure(client.request(Echo, { text: 1 } as never))).details?.["issues"];
      equal((issues as { path: string }[])[0]?.path, "text");
      equal(thrownBy(() => client.send(Note, { text: 1 } as never)).code, "INVALID_ARGUMENT");
      equal(thrownBy(() => client.send(Bare, { text: 1 } as never)).code, "INVALID_ARGUMENT");
      equal(
        thrownBy(() => client.send(Note, { text: "x" }, { meta: { n: 1 } as never })).code,
        "INVALID_ARGUMENT",
      );
      equal([client.state, world.sockets.length], ["closed", 0]);
    },
  },
  {
    name: "a payload that JSON cannot represent is refused with INVALID_ARGUMENT",
    async run(kit) {
      const { client } = kit.imagined();
      const Any = kit.library.message("ANY", { value: kit.library.unknown() });
      equal(thrownBy(() => client.send(Any, { value: 1n })).code, "INVALID_ARGUMENT");
    },
  },
  {
    name: "a request without a response within timeoutMs, by default 30,000, rejects with DEADLINE_EXCEEDED",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet();
      const { Slow } = kit.schemas;
      const short = failure(client.request(Slow, undefined, { timeoutMs: 80 }));
      const normal = failure(client.request(Slow));
      equal(
        world.socket.sent.map(({ meta }) => meta?.["timeoutMs"]),
        [80, 30_000],
      );
      world.advance(80);
      const error = await short;
      equal([error.code, error.retryable], ["DEADLINE_EXCEEDED", true]);
      world.advance(29_919);
      let isOver = false;
      void normal.then(() => {
        isOver = true;
      });
      await settle();
      equal(isOver, false);
      world.advance(1);
      equal((await normal).code, "DEADLINE_EXCEEDED");
    },
  },
  {
    name: "an aborted signal rejects the request with CANCELLED and sends $ws:abort once",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet();
      const abort = new AbortController();
      const request = failure(
        client.request(kit.schemas.Slow, undefined, { signal: abort.signal, correlationId: "1" }),
      );
      const reason = new Error("changed my mind");
      abort.abort(reason);
      const error = await request;
      equal([error.code, error.retryable, error.cause === reason], ["CANCELLED", false, true]);
      equal(world.socket.sent.slice(1), [{ type: "$ws:abort", meta: { correlationId: "1" } }]);
      const before = failure(client.request(kit.schemas.Slow, undefined, { signal: AbortSignal.abort() }));
      equal((await before).code, "CANCELLED");
      equal(world.socket.sent.length, 2);
    },
  },
  {
    name: "an abort after the response has no effect and sends nothing",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet();
      const abort = new AbortController();
      const answer = client.request(
        kit.schemas.Echo,
        { text: "x" },
        { signal: abort.signal, correlationId: "1" },
      );
      world.socket.deliver("ECHO_OK", { text: "y" }, { correlationId: "1" });
      abort.abort();
      equal((await answer).payload.text, "y");
      equal(world.socket.sent.length, 1);
    },
  },
  {
    name: "a late response to a cancelled request is dropped and reaches no handler, onUnhandled or onError",
    async run(kit) {
      const { client, world } = kit.imagined();
      const { Echo } = kit.schemas;
      const callbacks: unknown[] = [];
      client.on(Echo.response, (payload) => callbacks.push(payload));
      client.onUnhandled((message) => callbacks.push(message));
      client.onError((error) => callbacks.push(error.code));
      void client.connect();
      world.socket.greet();
      const late = failure(client.request(Echo, { text: "x" }, { timeoutMs: 10, correlationId: "1" }));
      const abort = new AbortController();
      const aborted = failure(
        client.request(Echo, { text: "x" }, { signal: abort.signal, correlationId: "2" }),
      );
      world.advance(10);
      abort.abort();
      await Promise.all([late, aborted]);
      world.socket.deliver("$ws:rpc-progress", { percent: 1 }, { correlationId: "1" });
      world.socket.deliver("ECHO_OK", { text: "late" }, { correlationId: "1" });
      world.socket.deliver("$ws:error", { code: "CANCELLED" }, { correlationId: "2" });
      equal(callbacks, []);
      world.socket.deliver("$ws:error", { code: "CANCELLED" }, { correlationId: "2" });
      equal(callbacks, ["CANCELLED"]);
    },
  },
  {
    name: "a correlationId in flight or queued is refused with ALREADY_EXISTS, and the first request continues",
    async run(kit) {
      const { client, world } = kit.imagined();
      const first = client.request(kit.schemas.Echo, { text: "x" }, { correlationId: "same" });
      equal(
        (await failure(client.request(kit.schemas.Slow, undefined, { correlationId: "same" }))).code,
        "ALREADY_EXISTS",
      );
      void client.connect();
      world.socket.greet();
      equal(
        (await failure(client.request(kit.schemas.Slow, undefined, { correlationId: "same" }))).code,
        "ALREADY_EXISTS",
      );
      world.socket.deliver("ECHO_OK", { text: "y" }, { correlationId: "same" });
      equal((await first).payload.text, "y");
      equal(world.socket.sent.length, 1);
    },
  },
  {
    name: "pendingRequestsLimit rejects the next request with RESOURCE_EXHAUSTED until one has settled",
    async run(kit) {
      const { client, world } = kit.imagined({ pendingRequestsLimit: 1 });
      void client.connect();
      world.socket.greet();
      const first = client.request(kit.schemas.Echo, { text: "x" }, { correlationId: "1" });
      equal((await failure(client.request(kit.schemas.Slow))).code, "RESOURCE_EXHAUSTED");
      world.socket.deliver("ECHO_OK", { text: "y" }, { correlationId: "1" });
      await first;
      client.request(kit.schemas.Slow).catch(() => undefined);
      equal(
        world.socket.sent.map(({ type }) => type),
        ["ECHO", "SLOW"],
      );
    },
  },
  {
    name: "a response of another type or with an invalid payload rejects with INTERNAL and reports a validation error",
    async run(kit) {
      const { client, world } = kit.imagined();
      const errors = errorsOf(client);
      void client.connect();
      world.socket.greet();
      const ask = (id: string) =>
        failure(client.request(kit.schemas.Echo, { text: "x" }, { correlationId: id }));
      const rejections = [ask("1"), ask("2"), ask("3")];
      world.socket.deliver("NOTE", { text: "y" }, { correlationId: "1" });
      world.socket.deliver("ECHO_OK", { text: 1 }, { correlationId: "2" });
      world.socket.raw('{"type":"ECHO_OK","meta":{"correlationId":"3"},"payload":{"text":"y"},"more":1}');
      equal(
        (await Promise.all(rejections)).map(({ code }) => code),
        ["INTERNAL", "INTERNAL", "INTERNAL"],
      );
      equal(errors, [
        ["validation", "INTERNAL"],
        ["validation", "INTERNAL"],
        ["parse", "INTERNAL"],
      ]);
    },
  },
  {
    name: "a server error rejects with a WsError with all its fields, and retryable is inferred when it is absent",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet();
      const fail = async (payload: object) => {
        const request = failure(client.request(kit.schemas.Slow, undefined, { correlationId: "1" }));
        world.socket.deliver("$ws:error", payload, { correlationId: "1" });
        const { code, message, details, retryable, retryAfterMs } = await request;
        return { code, message, details, retryable, retryAfterMs };
      };
      equal(await fail({ code: "NOT_FOUND", message: "no", details: { id: 3 } }), {
        code: "NOT_FOUND",
        message: "no",
        details: { id: 3 },
        retryable: false,
      });
      equal((await fail({ code: "ABORTED" })).retryable, true);
      equal((await fail({ code: "INTERNAL", retryable: true })).retryable, true);
      equal((await fail({ code: "UNAVAILABLE", retryable: false })).retryable, false);
      equal((await fail({ code: "RESOURCE_EXHAUSTED", retryAfterMs: 70 })).retryAfterMs, 70);
      equal((await fail({ code: "OWN_CODE" })).retryable, false);
      equal((await fail({ code: "NOT_FOUND", retryAfterMs: 70 })).code, "NOT_FOUND");
      equal((await fail({ code: 1, message: { toString: 1, valueOf: 1 } })).code, "INTERNAL");
    },
  },
  {
    name: "progress reaches onProgress and iteration in order, and the promise still resolves",
    async run(kit) {
      const progress = [{ i: 1 }, { i: 2 }, { i: 3 }];
      const server = await kit.serve({ answers: { ECHO: { type: "ECHO_OK", progress } } });
      const client = kit.client({ url: server.url });
      await client.connect();
      const seen: unknown[] = [];
      const first = client.request(kit.schemas.Echo, { text: "x" });
      first.onProgress((data) => seen.push(data));
      equal((await first).payload.text, "x");
      equal(seen, progress);
      const second = client.request(kit.schemas.Echo, { text: "x" });
      const iterated: unknown[] = [];
      for await (const data of second) iterated.push(data);
      equal(iterated, progress);
      equal((await second).payload.text, "x");
    },
  },
  {
    name: "iteration ends with the request's error, and an early exit cancels the request",
    async run(kit) {
      const { client, world } = kit.imagined();
      void client.connect();
      world.socket.greet();
      const failing = client.request(kit.schemas.Slow, undefined, { correlationId: "1" });
      const iteration = (async () => {
        const seen: unknown[] = [];
        for await (const data of failing) seen.push(data);
        return seen;
      })();
      world.socket.deliver("$ws:rpc-progress", 1, { correlationId: "1" });
      world.socket.deliver("$ws:error", { code: "NOT_FOUND" }, { correlationId: "1" });
      equal((await failure(iteration)).code, "NOT_FOUND");
      const left = client.request(kit.schemas.Echo, { text: "x" }, { correlationId: "2" });
      world.socket.deliver("$ws:rpc-progress", "missed", { correlationId: "2" });
      const leaving = (async () => {
        for await (const data of left) return data;
        return undefined;
      })();
      world.socket.deliver("$ws:rpc-progress", "first", { correlationId: "2" });
      equal(await leaving, "first");
      equal((await failure(left)).code, "CANCELLED");
      equal(world.socket.sent.at(-1), { type: "$ws:abort", meta: { correlationId: "2" } });
    },
  },
  {
    name: "onProgress returns an unsubscribe function, and a callback that throws has no effect",
    async run(kit) {
      const { client, world } = kit.imagined();
      const errors = errorsOf(client);
      void client.connect();
      world.socket.greet();
      const request = client.request(kit.schemas.Echo, { text: "x" }, { correlationId: "1" });
      const seen: unknown[] = [];
      const stop = request.onProgress((data) => seen.push(data));
      request.onProgress(() => {
        throw new Error("mine");
      });
      world.socket.deliver("$ws:rpc-progress", 1, { correlationId: "1" });
      stop();
      world.socket.deliver("$ws:rpc-progress", 2, { correlationId: "1" });
      world.socket.deliver("ECHO_OK", { text: "y" }, { correlationId: "1" });
      equal((await request).payload.text, "y");
      equal([seen, errors.length], [[1], 2]);
    },
  },
];
