/** Failures and mistakes: each one is reported with its cause, the value concerned, and what to change. */
import type { WsError } from "../../../src/protocol/error.ts";
import {
  type Case,
  equal,
  errorsOf,
  failure,
  type Kit,
  ok,
  settle,
  statesOf,
  thrownBy,
  until,
} from "../kit.ts";

const UNREACHABLE = "ws://127.0.0.1:1/ws";

/** Records what the client prints while the test runs. */
async function printed(run: () => Promise<void>): Promise<string[]> {
  const lines: string[] = [];
  const { warn } = console;
  console.warn = (...values: unknown[]) => lines.push(values.join(" "));
  try {
    await run();
  } finally {
    console.warn = warn;
  }
  return lines;
}

/** A client whose socket opened, with the errors that `onError` got. */
function open(kit: Kit): ReturnType<Kit["imagined"]> & { readonly errors: WsError[] } {
  const { client, world } = kit.imagined({ reconnect: { jitter: "none" } });
  const errors: WsError[] = [];
  client.onError((error) => errors.push(error));
  void client.connect();
  world.socket.greet();
  return { client, world, errors };
}

export const failures: readonly Case[] = [
  {
    name: "every failed attempt reaches onError with its number, the address without query, and the next delay",
    async run(kit) {
      const client = kit.client({
        url: `${UNREACHABLE}?room=secret`,
        auth: { getToken: () => "secret" },
        reconnect: { initialDelayMs: 5, maxDelayMs: 20, jitter: "none" },
      });
      const errors: WsError[] = [];
      client.onError((error) => errors.push(error));
      client.connect().catch(() => undefined);
      await until(() => errors.length >= 3, "three failed attempts");
      equal(
        errors.slice(0, 3).map(({ code, details }) => [code, details]),
        [5, 10, 20].map((nextRetryMs, i) => [
          "UNAVAILABLE",
          { attempt: i + 1, url: UNREACHABLE, closeCode: 1006, reason: "", nextRetryMs },
        ]),
      );
      for (const error of errors) {
        ok(error.message.startsWith(`Cannot connect to ${UNREACHABLE}: `), error.message);
        ok(
          error.message.endsWith("Check host, port and path, and that the server is running."),
          error.message,
        );
        ok(!`${error.stack} ${JSON.stringify(error)}`.includes("secret"), "neither query nor token is shown");
      }
    },
  },
  {
    name: "the error of the socket is the cause of a failed attempt, unless its text may contain the address",
    async run(kit) {
      const { client, world } = kit.imagined({ reconnect: { jitter: "none" } });
      const errors: WsError[] = [];
      client.onError((error) => errors.push(error));
      client.connect().catch(() => undefined);
      const cause = new Error("connect ECONNREFUSED 127.0.0.1:1");
      world.socket.fail(cause);
      world.advance(300);
      world.socket.fail(new Error("bad address ws://server/?access_token=secret"));
      equal(
        errors.map(({ message }) => message),
        ["connect ECONNREFUSED 127.0.0.1:1", "close code 1006"].map(
          (why) =>
            `Cannot connect to ws://server/: ${why}. Check host, port and path, and that the server is running.`,
        ),
      );
      ok(errors[0]?.cause === cause && errors[1]?.cause === undefined, "the causes");
    },
  },
  {
    name: "an attempt that fails without a close event, as on Node 22, is reported and repeated at once",
    async run(kit) {
      const { client, world } = kit.imagined({ reconnect: { jitter: "none" } });
      const errors: WsError[] = [];
      client.onError((error) => errors.push(error));
      client.connect().catch(() => undefined);
      const [failed] = world.sockets;
      failed?.failWithoutClose(new Error("Received network error"));
      const reported = [{ attempt: 1, url: "ws://server/", closeCode: 1006, reason: "", nextRetryMs: 300 }];
      const details = () => errors.map((error) => error.details);
      equal(details(), reported);
      world.advance(300);
      equal(world.sockets.length, 2);
      failed?.end();
      equal(details(), reported);
    },
  },
  {
    name: "an attempt without a response is reported as such",
    async run(kit) {
      const { client, world } = kit.imagined({ reconnect: { jitter: "none" } });
      const errors: WsError[] = [];
      client.onError((error) => errors.push(error));
      client.connect().catch(() => undefined);
      world.advance(10_000);
      equal(errors[0]?.details, { attempt: 1, url: "ws://server/", nextRetryMs: 300 });
      ok(errors[0]?.message.includes("no response"), `${errors[0]?.message}`);
    },
  },
  {
    name: "onState and the final error have the close code and the reason of the server",
    async run(kit) {
      const server = await kit.serve();
      const client = kit.client({ url: server.url });
      const seen: unknown[] = [];
      const errors: WsError[] = [];
      client.onState((state, info) => seen.push([state, info?.closeCode, info?.reason]));
      client.onError((error) => errors.push(error));
      await client.connect();
      await server.close(1012, "deploying");
      await until(() => seen.length >= 3 && client.isConnected, "open again");
      await server.close(4403, "banned: spam");
      await until(() => client.state === "closed", "closed");
      equal(seen, [
        ["connecting", null, null],
        ["open", null, null],
        ["reconnecting", 1012, "deploying"],
        ["open", null, null],
        ["closed", 4403, "banned: spam"],
      ]);
      equal(errors.length, 1);
      const [error] = errors;
      equal(
        [error?.code, error?.details?.["closeCode"], error?.details?.["reason"]],
        ["PERMISSION_DENIED", 4403, "banned: spam"],
      );
      equal(
        error?.message,
        `The connection to ${server.url} was lost: close code 4403, banned: spam. The server refused this client: check its allowedOrigins and the user's permissions.`,
      );
    },
  },
  {
    name: "a request that was sent rejects with the close code and reason that ended its connection",
    async run(kit) {
      const { client, world } = open(kit);
      const rejected = failure(client.request(kit.schemas.Slow));
      world.socket.end(1011, "out of memory");
      const error = await rejected;
      equal(
        [error.code, error.message],
        ["UNAVAILABLE", "The connection to ws://server/ was lost: close code 1011, out of memory."],
      );
    },
  },
  {
    name: "a refused login rejects connect with its close code and reason, also with an application protocol, and the client was never open",
    async run(kit) {
      for (const protocol of ["halyard.v1.json", "chat.v1"]) {
        const server = await kit.serve({ protocol, refuse: { code: 4401, reason: "token revoked" } });
        const client = kit.client({ url: server.url, protocols: "chat.v1" });
        const states = statesOf(client);
        const queued = failure(client.request(kit.schemas.Slow));
        const error = await failure(client.connect());
        equal(
          [error.code, error.details?.["closeCode"], error.details?.["reason"]],
          ["UNAUTHENTICATED", 4401, "token revoked"],
        );
        equal(
          error.message,
          `Cannot connect to ${server.url}: close code 4401, token revoked. The server refused the login: sign in again, or check the token.`,
        );
        equal([states, (await queued).code], [["connecting", "closed"], "UNAVAILABLE"]);
      }
    },
  },
  {
    name: "a url without a scheme, with another scheme or relative without a page rejects connect immediately and is named",
    async run(kit) {
      for (const url of ["localhost:3000/ws", "htp://localhost/ws", "mailto:x", "ws://", "http://["]) {
        const client = kit.client({ url: `${url}?token=secret` });
        const errors = errorsOf(client);
        const error = await failure(client.connect());
        equal([error.code, client.state, errors.length], ["INVALID_ARGUMENT", "closed", 1]);
        equal(
          error.message,
          `The url "${url}" is not valid. Begin it with ws://, wss://, http:// or https://; a relative url works only in a page.`,
        );
      }
    },
  },
  {
    name: "a message that waits because connect was not called is reported after a second",
    async run(kit) {
      const { client, world } = kit.imagined();
      const errors: string[] = [];
      client.onError((error) => errors.push(`${error.code}: ${error.message}`));
      client.send(kit.schemas.Note, { text: "x" });
      const rejected = failure(client.request(kit.schemas.Slow, undefined, { timeoutMs: 2_000 }));
      world.advance(999);
      equal(errors, []);
      world.advance(1);
      equal(errors, [
        "UNAVAILABLE: NOTE waits in the queue: connect() was not called. Call connect() to send it.",
      ]);
      world.advance(1_000);
      equal(
        (await rejected).message,
        "No response within 2000 ms. The request was not sent, because the client is not connected. Check that connect() was called.",
      );
    },
  },
  {
    name: "a message that waits in a closed client is reported after a second, with the reason of the close",
    async run(kit) {
      const { client, world, errors } = open(kit);
      const closed = client.close();
      world.socket.end(1000);
      await closed;
      client.request(kit.schemas.Slow).catch(() => undefined);
      world.advance(1_000);
      equal(
        errors.map(({ message }) => message),
        ["SLOW waits in the queue: The client was closed. Call connect() to send it."],
      );
    },
  },
  {
    name: "a message that waits is not reported when connect is called within a second",
    async run(kit) {
      const { client, world } = kit.imagined();
      const errors = errorsOf(client);
      client.send(kit.schemas.Note, { text: "x" });
      world.advance(900);
      void client.connect();
      world.advance(5_000);
      equal([errors, client.state], [[], "connecting"]);
    },
  },
  {
    name: "a queued message that close drops is reported as overflow",
    async run(kit) {
      const { client } = kit.imagined();
      const errors: unknown[] = [];
      client.onError((error, { type, details }) => errors.push([type, details?.["type"], error.message]));
      equal(client.send(kit.schemas.Note, { text: "x" }), false);
      const request = failure(client.request(kit.schemas.Slow));
      await client.close();
      equal(
        [(await request).code, errors],
        ["UNAVAILABLE", [["overflow", "NOTE", "NOTE was not sent: the client is closed."]]],
      );
    },
  },
  {
    name: "the name of a message in place of its schema is refused with the name and the remedy",
    async run(kit) {
      const { client } = kit.imagined();
      const remedy = '"TYPING" is not a message schema. Pass what message() or rpc() returned.';
      const request = client.request as (name: unknown) => Promise<unknown>;
      equal(thrownBy(() => (client.send as (name: string) => unknown)("TYPING")).message, remedy);
      equal(thrownBy(() => client.on("TYPING" as never, () => undefined)).message, remedy);
      equal((await failure(request("TYPING"))).message, remedy);
      equal(
        (await failure(request(undefined))).message,
        "undefined is not a message schema. Pass what message() or rpc() returned.",
      );
    },
  },
  {
    name: "a message that does not match its schema is refused with the field and the remedy",
    async run(kit) {
      const { client, world, errors } = open(kit);
      const { Note, Echo } = kit.schemas;
      const refused = thrownBy(() => client.send(Note, { text: 1 as never })).message;
      ok(
        /^The payload of NOTE does not match its schema\. text: .*Change the message/.test(refused),
        refused,
      );
      client.on(Note, () => undefined);
      world.socket.deliver("NOTE", { title: "x" });
      const received = `${errors[0]?.message}`;
      ok(
        /^The payload of NOTE does not match its schema\. .*Use the same schema on both/.test(received),
        received,
      );
      const request = failure(client.request(Echo, { text: "x" }, { correlationId: "1" }));
      world.socket.deliver("NOTE", { text: "x" }, { correlationId: "1" });
      equal(
        (await request).message,
        "The response to ECHO is NOTE, but its schema expects ECHO_OK. Use the same schema on both sides.",
      );
    },
  },
  {
    name: "without an onError callback errors are printed, each text once per connection, and with one nothing is printed",
    async run(kit) {
      const lines = await printed(async () => {
        const { client, world } = kit.imagined({ reconnect: { jitter: "none" } }, "loud");
        client.connect().catch(() => undefined);
        for (let i = 0; i < 5; i++) {
          world.socket.end(1013, "full");
          world.advance(world.timers[0] ?? 0);
        }
        world.socket.greet();
        world.socket.end();
        world.advance(world.timers[0] ?? 0);
        world.socket.end(1013, "full");
        client.onError(() => undefined);
        world.advance(world.timers[0] ?? 0);
        world.socket.end(4401, "expired");
      });
      const line =
        "[halyard] Cannot connect to ws://server/: close code 1013, full. The server answered, but cannot take this client now: see the log of the server. [object Object]";
      equal(lines, [line, line]);
    },
  },
  {
    name: "the client reconnects with a new token when the old one has expired, and stops when that is refused",
    async run(kit) {
      let calls = 0;
      const { client, world } = kit.imagined({
        reconnect: { jitter: "none" },
        auth: { getToken: () => `token-${++calls}` },
      });
      const errors = errorsOf(client);
      void client.connect();
      for (const token of ["token-1", "token-3"]) {
        await settle();
        ok(world.socket.url.endsWith(token), world.socket.url);
        world.socket.greet({ expiresAt: 20_000 }, { timestamp: 10_000 });
        world.advance(9_990);
        await settle();
        world.socket.end(4401, "expired");
        equal([client.state, errors], ["reconnecting", []]);
        world.advance(world.timers[0] ?? 0);
      }
      await settle();
      world.socket.accept();
      world.socket.end(4401, "expired");
      equal([client.state, errors, world.timers], ["closed", [["unknown", "UNAUTHENTICATED"]], []]);
    },
  },
  {
    name: "close code 4401 before the token expires, or without getToken, closes the client without another attempt",
    async run(kit) {
      for (const options of [{ auth: { getToken: () => "t" } }, {}]) {
        const { client, world } = kit.imagined(options);
        client.connect().catch(() => undefined);
        await settle();
        world.socket.greet({ expiresAt: 20_000 }, { timestamp: 10_000 });
        world.advance("auth" in options ? 8_500 : 9_999);
        world.socket.end(4401, "signed out");
        equal(client.state, "closed");
      }
    },
  },
  {
    name: "a correlationId whose request timed out can be used again and gets its response",
    async run(kit) {
      const { client, world } = open(kit);
      const ask = () =>
        client.request(kit.schemas.Echo, { text: "x" }, { correlationId: "order-17", timeoutMs: 100 });
      const first = failure(ask());
      world.advance(100);
      equal((await first).code, "DEADLINE_EXCEEDED");
      const second = ask();
      world.socket.deliver("ECHO_OK", { text: "2" }, { correlationId: "order-17" });
      equal((await second).payload.text, "2");
    },
  },
  {
    name: "leaving an iteration over progress early cancels the request on the server",
    async run(kit) {
      const server = await kit.serve({ answers: { SLOW: { progress: [1, 2] } } });
      const client = kit.client({ url: server.url });
      await client.connect();
      const request = client.request(kit.schemas.Slow);
      for await (const data of request) {
        equal(data, 1);
        break;
      }
      equal((await failure(request)).code, "CANCELLED");
      equal((await server.frames("$ws:abort", 1)).length, 1);
      equal(client.state, "open");
    },
  },
];
