/** The options of `connect`: when it gives up. */
import type { WsError } from "../../../src/protocol/error.ts";
import { type Case, equal, failure, ok } from "../kit.ts";

export const connect: readonly Case[] = [
  {
    name: "connect gives up after its attempts with the last error, and the client is closed",
    async run(kit) {
      const { client, world } = kit.imagined({ reconnect: { jitter: "none" } });
      const errors: WsError[] = [];
      client.onError((error) => errors.push(error));
      const rejected = failure(client.connect({ attempts: 2 }));
      world.socket.end(1013, "full");
      world.advance(300);
      world.socket.end(1013, "still full");
      const error = await rejected;
      equal(
        [error.code, error.details],
        ["UNAVAILABLE", { attempt: 2, url: "ws://server/", closeCode: 1013, reason: "still full" }],
      );
      equal([errors.length, client.state, world.sockets.length, world.timers], [2, "closed", 2, []]);
    },
  },
  {
    name: "the attempts of connect end with the open connection, and a second connect counts from its call",
    async run(kit) {
      const { client, world } = kit.imagined({ reconnect: { jitter: "none", maxDelayMs: 300 } });
      void client.connect({ attempts: 1 });
      world.socket.greet();
      for (let i = 0; i < 3; i++) {
        world.socket.end();
        world.advance(300);
      }
      equal([client.state, world.sockets.length], ["reconnecting", 4]);
      const rejected = failure(client.connect({ attempts: 2 }));
      world.socket.end();
      world.advance(300);
      world.socket.end();
      equal([(await rejected).code, client.state], ["UNAVAILABLE", "closed"]);
    },
  },
  {
    name: "connect gives up after timeoutMs with DEADLINE_EXCEEDED and the last failure as cause",
    async run(kit) {
      const { client, world } = kit.imagined({ reconnect: { jitter: "none" } });
      const queued = failure(client.request(kit.schemas.Slow));
      const rejected = failure(client.connect({ timeoutMs: 500 }));
      world.socket.end(1006);
      world.advance(500);
      const error = await rejected;
      equal([error.code, error.message], ["DEADLINE_EXCEEDED", "No connection within 500 ms."]);
      ok(`${(error.cause as Error).message}`.startsWith("Cannot connect"), "the cause");
      equal([(await queued).code, client.state, world.timers], ["UNAVAILABLE", "closed", []]);
    },
  },
  {
    name: "a signal cancels connect before the client is open, and has no effect after that",
    async run(kit) {
      const { client, world } = kit.imagined();
      const early = new AbortController();
      const rejected = failure(client.connect({ signal: early.signal }));
      early.abort("leaving");
      const error = await rejected;
      equal([error.code, error.cause, client.state], ["CANCELLED", "leaving", "closed"]);
      equal((await failure(client.connect({ signal: early.signal }))).code, "CANCELLED");
      equal([client.state, world.sockets.length], ["closed", 1]);
      const late = new AbortController();
      const connected = client.connect({ signal: late.signal, timeoutMs: 1_000 });
      world.socket.greet();
      await connected;
      late.abort();
      world.advance(1_000);
      equal([client.state, world.timers], ["open", []]);
    },
  },
];
