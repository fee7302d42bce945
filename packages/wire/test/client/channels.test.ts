/** Channels of the client against a server whose frames the test writes. */
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { joinChannel, type WsClient, wsClient } from "../../src/client/zod.ts";
import { channel, message, z } from "../../src/zod.ts";

const Said = message("SAID", { text: z.string() });
const Typing = message("TYPING", { text: z.string() });
const params = { id: z.string() };
const Room = channel("room:{id}", { params, events: [Said, Typing] });
const Kept = channel("kept:{id}", { params, events: [Said], history: { size: 10, ttlMs: 1_000 } });
const TOPIC = "$c/room:*/a";
const POLL = { timeout: 5_000, interval: 5 };

interface Frame {
  readonly type: string;
  readonly meta: { readonly correlationId?: string };
  readonly payload: { readonly position?: unknown; readonly [key: string]: unknown };
}

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** A server that records frames, and answers joins as the test wants. */
class Script {
  readonly frames: Frame[] = [];
  readonly sockets: WebSocket[] = [];
  answer: (frame: Frame, nth: number) => void = (frame) => this.joined(frame);
  readonly #server: WebSocketServer;

  constructor() {
    this.#server = new WebSocketServer({ port: 0, handleProtocols: () => "halyard.v1.json" });
    cleanups.push(() => {
      for (const socket of this.#server.clients) socket.terminate();
      this.#server.close();
    });
    this.#server.on("connection", (socket) => {
      const nth = this.sockets.push(socket);
      this.say("$ws:hello", { v: 1, clientId: `client-${nth}`, heartbeatMs: 0, maxPayloadBytes: 1_000 });
      socket.on("message", (data) => {
        const frame = JSON.parse(String(data)) as Frame;
        this.frames.push(frame);
        if (frame.type === "$ws:join") this.answer(frame, this.joins.length);
      });
    });
  }

  get joins(): Frame[] {
    return this.frames.filter(({ type }) => type === "$ws:join");
  }

  say(type: string, payload: object, meta: object = {}): void {
    this.sockets.at(-1)?.send(JSON.stringify({ type, meta: { timestamp: 1, ...meta }, payload }));
  }

  joined({ meta }: Frame, more: object = {}): void {
    this.say("$ws:joined", { topic: TOPIC, ...more }, { correlationId: meta.correlationId });
  }

  refused({ meta }: Frame, code: string): void {
    this.say("$ws:error", { code }, { correlationId: meta.correlationId });
  }

  said(text: string, meta: object = {}): void {
    this.say("SAID", { text }, { $t: TOPIC, ...meta });
  }

  async connect(): Promise<WsClient> {
    const { port } = this.#server.address() as AddressInfo;
    const client = wsClient({
      url: `ws://127.0.0.1:${port}`,
      reconnect: { initialDelayMs: 5, maxDelayMs: 20 },
    });
    client.onError(() => undefined);
    cleanups.push(() => client.close());
    await client.connect();
    return client;
  }
}

function join(client: WsClient, kind: typeof Room | typeof Kept = Room, id = "a") {
  const room = joinChannel(client, kind, { id });
  const got: string[] = [];
  room.on(Said, ({ text }) => got.push(text));
  room.onGap(({ reason }) => got.push(`gap ${reason}`));
  return { room, got };
}

describe("a room", () => {
  test("joins again before the messages that were queued in the meantime are sent", async () => {
    const script = new Script();
    const client = await script.connect();
    const { room } = join(client);
    await room.joined;
    const before = script.frames.length;
    script.sockets.at(-1)?.terminate();
    await expect.poll(() => client.isConnected, POLL).toBe(false);
    for (const text of ["first", "second"]) client.send(Said, { text });
    client.onState((state) => void (state === "open" && client.send(Said, { text: "third" })));
    await expect.poll(() => script.frames.length - before, POLL).toBe(4);
    const sent = script.frames.slice(before).map(({ type, payload }) => payload["text"] ?? type);
    expect(sent).toEqual(["$ws:join", "first", "second", "third"]);
  });

  test("gets messages only after the newest joined, and no handler of the client gets them", async () => {
    const script = new Script();
    script.answer = (frame) => {
      script.said("too early");
      script.say("$ws:joined", { topic: TOPIC }, { correlationId: "another" });
      script.said("still too early");
      script.joined(frame);
      script.said("in time");
    };
    const client = await script.connect();
    const strayed: string[] = [];
    client.on(Said, ({ text }) => strayed.push(text));
    client.onUnhandled(({ type }) => strayed.push(type));
    const { room, got } = join(client);
    await expect.poll(() => got, POLL).toEqual(["in time"]);
    room.leave();
    script.said("after");
    script.say("SAID", { text: "plain" });
    await expect.poll(() => strayed, POLL).toEqual(["plain"]);
    expect(got).toEqual(["in time"]);
  });

  test("sends its last position with the next join, and none before it has one", async () => {
    const script = new Script();
    script.answer = (frame, nth) =>
      script.joined(frame, { position: { epoch: "e", offset: nth === 1 ? 5 : 7 } });
    const { got } = join(await script.connect(), Kept);
    await expect.poll(() => script.joins.length, POLL).toBe(1);
    expect(script.joins[0]?.payload.position).toBeUndefined();
    script.said("six", { $e: "e", $o: 6 });
    script.said("seven", { $e: "e", $o: 7 });
    script.said("seven again", { $e: "e", $o: 7 });
    await expect.poll(() => got, POLL).toEqual(["six", "seven"]);
    script.sockets.at(-1)?.close(4000);
    await expect.poll(() => script.joins.length, POLL).toBe(2);
    expect(script.joins[1]?.payload.position).toEqual({ epoch: "e", offset: 7 });
    expect(got).toEqual(["six", "seven"]);
  });

  test("drops its own excludeSelf messages, also of earlier connections, and takes their position", async () => {
    const script = new Script();
    script.answer = (frame, nth) =>
      script.joined(frame, { position: nth === 1 ? { epoch: "e", offset: 0 } : frame.payload.position });
    const { got } = join(await script.connect(), Kept);
    await expect.poll(() => script.joins.length, POLL).toBe(1);
    script.said("mine", { $e: "e", $o: 1, $x: "client-1" });
    script.said("theirs", { $e: "e", $o: 2, $x: "client-9" });
    await expect.poll(() => got, POLL).toEqual(["theirs"]);
    script.sockets.at(-1)?.close(4000);
    await expect.poll(() => script.joins.length, POLL).toBe(2);
    script.said("mine from before", { $e: "e", $o: 3, $x: "client-1" });
    script.said("mine from now", { $e: "e", $o: 4, $x: "client-2" });
    script.said("end", { $e: "e", $o: 5 });
    await expect.poll(() => got, POLL).toEqual(["theirs", "end"]);
  });

  test("takes a missing offset and another epoch for a gap, and a gap frame for one gap only", async () => {
    const script = new Script();
    script.answer = (frame) => script.joined(frame, { position: { epoch: "e", offset: 0 } });
    const { got } = join(await script.connect(), Kept);
    await expect.poll(() => script.joins.length, POLL).toBe(1);
    script.said("1", { $e: "e", $o: 1 });
    script.said("3", { $e: "e", $o: 3 });
    script.said("f", { $e: "f", $o: 1 });
    script.say("$ws:gap", { topic: TOPIC, reason: "retention", position: { epoch: "f", offset: 7 } });
    script.said("8", { $e: "f", $o: 8 });
    await expect
      .poll(() => got, POLL)
      .toEqual(["1", "gap retention", "3", "gap epoch", "f", "gap retention", "8"]);
  });

  test("takes the first message after an empty history for no gap, and one that is not the first for a gap", async () => {
    const script = new Script();
    script.answer = (frame) => script.joined(frame, { position: { epoch: "0.a", offset: 0 } });
    const client = await script.connect();
    const { room, got } = join(client, Kept);
    await room.joined;
    script.said("first", { $e: "b", $o: 1 });
    script.said("lost", { $e: "c", $o: 1 });
    await expect.poll(() => got, POLL).toEqual(["first", "gap epoch", "lost"]);
    const late = join(client, Kept);
    await late.room.joined;
    script.said("second", { $e: "b", $o: 2 });
    await expect.poll(() => late.got, POLL).toEqual(["gap epoch", "second"]);
  });

  test("retries a join after UNAVAILABLE, and not after PERMISSION_DENIED", async () => {
    const script = new Script();
    script.answer = (frame, nth) => script.refused(frame, nth < 3 ? "UNAVAILABLE" : "PERMISSION_DENIED");
    const { room } = join(await script.connect());
    await expect(room.joined).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    expect([room.state, room.error?.code, script.joins.length]).toEqual(["refused", "PERMISSION_DENIED", 3]);
  });

  test("that is refused because of the rate joins at its time, and onError gets nothing", async () => {
    const script = new Script();
    script.answer = (frame, nth) => {
      if (nth > 1) return script.joined(frame);
      const limited = { code: "RESOURCE_EXHAUSTED", retryable: true, retryAfterMs: 40, topic: TOPIC };
      script.say("$ws:error", limited, { correlationId: frame.meta.correlationId });
    };
    const client = await script.connect();
    const errors: string[] = [];
    client.onError((error) => errors.push(error.code));
    const { room } = join(client);
    await expect.poll(() => room.error?.retryAfterMs, POLL).toBe(40);
    await room.joined;
    expect([script.joins.length, errors, room.error]).toEqual([2, [], undefined]);
  });

  test("that is refused for another reason with RESOURCE_EXHAUSTED reports it, and retries", async () => {
    const script = new Script();
    script.answer = (frame, nth) => {
      if (nth > 3) return script.joined(frame);
      const full = { code: "RESOURCE_EXHAUSTED", retryable: true, retryAfterMs: 40 };
      script.say("$ws:error", full, { correlationId: frame.meta.correlationId });
    };
    const client = await script.connect();
    const errors: string[] = [];
    client.onError((error) => errors.push(error.code));
    await join(client).room.joined;
    expect(errors).toEqual(Array(3).fill("RESOURCE_EXHAUSTED"));
  });

  test("that is left while it waits for its turn gives the turn back, unless another room waits for it", async () => {
    const script = new Script();
    script.answer = ({ meta: { correlationId } }) => {
      const limited = { code: "RESOURCE_EXHAUSTED", retryable: true, retryAfterMs: 60_000, topic: TOPIC };
      script.say("$ws:error", limited, { correlationId });
    };
    const client = await script.connect();
    const leaves = () => script.frames.filter(({ type }) => type === "$ws:leave").length;
    const first = join(client).room;
    const second = join(client).room;
    await expect.poll(() => [first.error?.code, second.error?.code], POLL).not.toContain(undefined);
    first.leave();
    // Its answer shows that the leave of the first room would have arrived.
    const third = join(client).room;
    await expect.poll(() => third.error?.code, POLL).toBe("RESOURCE_EXHAUSTED");
    expect(leaves()).toBe(0);
    second.leave();
    third.leave();
    await expect.poll(leaves, POLL).toBe(1);
    // Left before its answer.
    join(client).room.leave();
    await expect.poll(leaves, POLL).toBe(2);
  });

  test("joins again when the server ends the membership with UNAVAILABLE, and not with another code", async () => {
    const script = new Script();
    const { room, got } = join(await script.connect());
    await room.joined;
    script.say("$ws:left", { topic: TOPIC, code: "UNAVAILABLE" });
    await expect.poll(() => [script.joins.length, room.state], POLL).toEqual([2, "joined"]);
    script.say("$ws:left", { topic: TOPIC, code: "PERMISSION_DENIED" });
    await expect.poll(() => room.state, POLL).toBe("left");
    script.sockets.at(-1)?.close(4000);
    await expect.poll(() => script.sockets.length, POLL).toBe(2);
    expect([script.joins.length, got]).toEqual([2, ["gap reconnect"]]);
  });

  test("that is left before the server answered leaves then, and rejects its promise", async () => {
    const script = new Script();
    const waiting: Frame[] = [];
    script.answer = (frame) => waiting.push(frame);
    const { room } = join(await script.connect());
    await expect.poll(() => waiting.length, POLL).toBe(1);
    room.leave();
    await expect(room.joined).rejects.toMatchObject({ code: "CANCELLED" });
    for (const frame of waiting) script.joined(frame);
    await expect.poll(() => script.frames.map(({ type }) => type), POLL).toContain("$ws:leave");
  });

  test("shares its topic with another room of the client, which stays when it is left", async () => {
    const script = new Script();
    const client = await script.connect();
    const [one, two] = [join(client), join(client)];
    await Promise.all([one.room.joined, two.room.joined]);
    script.said("both");
    await expect.poll(() => [one.got, two.got], POLL).toEqual([["both"], ["both"]]);
    one.room.leave();
    script.said("one");
    await expect.poll(() => two.got, POLL).toEqual(["both", "one"]);
    expect(script.frames.some(({ type }) => type === "$ws:leave")).toBe(false);
    two.room.leave();
    await expect.poll(() => script.frames.map(({ type }) => type), POLL).toContain("$ws:leave");
    expect(one.got).toEqual(["both"]);
  });

  test("that is left while another room joins the same topic does not end the other's membership", async () => {
    const script = new Script();
    const waiting: Frame[] = [];
    script.answer = (frame) => waiting.push(frame);
    const client = await script.connect();
    const [one, two] = [join(client), join(client)];
    one.room.leave();
    await expect.poll(() => waiting.length, POLL).toBe(2);
    for (const frame of waiting) script.joined(frame);
    await two.room.joined;
    script.said("hi");
    await expect.poll(() => two.got, POLL).toEqual(["hi"]);
    expect(script.frames.some(({ type }) => type === "$ws:leave")).toBe(false);
  });

  test("of a client that is not connected yet joins once it is", async () => {
    const script = new Script();
    const client = await script.connect();
    await client.close();
    const { room } = join(client);
    expect(room.state).toBe("joining");
    await client.connect();
    await room.joined;
    expect(room.state).toBe("joined");
  });
});

describe("a message before the first handler of its type", () => {
  /** A room whose server has sent all frames of `send`. */
  async function late(send: (script: Script) => void, kind: typeof Room | typeof Kept = Room) {
    const script = new Script();
    script.answer = (frame) => {
      script.joined(frame, kind === Kept ? { position: { epoch: "e", offset: 0 } } : {});
      send(script);
    };
    const client = await script.connect();
    const room = joinChannel(client, kind, { id: "a" });
    await room.joined;
    const got: string[] = [];
    const said = ({ text }: { text: string }): void => void got.push(text);
    const gapped = ({ reason }: { reason: string }): void => void got.push(`gap ${reason}`);
    return { script, client, room, got, said, gapped };
  }
  /** Resolves when all frames so far have arrived. */
  async function arrived({ script, client }: { script: Script; client: WsClient }): Promise<void> {
    const seen: unknown[] = [];
    const stop = client.onUnhandled(({ type }) => seen.push(type));
    script.say("ARRIVED", {});
    await expect.poll(() => seen, POLL).toEqual(["ARRIVED"]);
    stop();
  }

  test("is handed over in a microtask, with messages of other types in the order of their arrival", async () => {
    const at = await late((script) => {
      script.said("1");
      script.say("TYPING", { text: "2" }, { $t: TOPIC });
      script.said("3");
    });
    await arrived(at);
    at.room.on(Typing, at.said);
    at.room.on(Said, at.said);
    expect(at.got).toEqual([]);
    await Promise.resolve();
    expect(at.got).toEqual(["1", "2", "3"]);
    at.script.said("4");
    await expect.poll(() => at.got, POLL).toEqual(["1", "2", "3", "4"]);
  });

  test("is not lost when a handler is removed in the turn that registered it, and dropped when it is removed later", async () => {
    const at = await late((script) => script.said("1"));
    await arrived(at);
    at.room.on(Said, () => at.got.push("wrong"))();
    await Promise.resolve();
    const stop = at.room.on(Said, at.said);
    await Promise.resolve();
    stop();
    at.script.said("2");
    await arrived(at);
    at.room.on(Said, at.said);
    at.script.said("3");
    await expect.poll(() => at.got, POLL).toEqual(["1", "3"]);
  });

  test("counts as received when the client resumes", async () => {
    const at = await late((script) => script.said("1", { $e: "e", $o: 1 }), Kept);
    await arrived(at);
    at.script.answer = (frame) => at.script.joined(frame, { position: frame.payload.position });
    at.script.sockets.at(-1)?.close(4000);
    await expect.poll(() => at.script.joins.length, POLL).toBe(2);
    expect(at.script.joins[1]?.payload.position).toEqual({ epoch: "e", offset: 1 });
    at.room.on(Said, at.said);
    await expect.poll(() => at.got, POLL).toEqual(["1"]);
  });

  test("follows the gap before it, which the first onGap receives once, as it was announced last", async () => {
    const at = await late((script) => {
      script.said("1");
      script.say("$ws:gap", { topic: TOPIC, reason: "shed" });
      script.say("$ws:gap", { topic: TOPIC, reason: "bus" });
      script.said("2");
    });
    await arrived(at);
    at.room.on(Said, at.said);
    at.room.onGap(at.gapped);
    await Promise.resolve();
    expect(at.got).toEqual(["1", "gap bus", "2"]);
    at.room.onGap(() => at.got.push("again"));
    await Promise.resolve();
    expect(at.got).toHaveLength(3);
  });

  test("has its gap announced in its place, although a callback received the gap when it arrived", async () => {
    const at = await late((script) => script.said("1"));
    at.room.onGap(at.gapped);
    at.script.say("$ws:gap", { topic: TOPIC, reason: "shed" });
    at.script.said("2");
    await expect.poll(() => at.got, POLL).toEqual(["gap shed"]);
    at.room.on(Typing, at.said);
    await arrived(at);
    expect(at.got).toEqual(["gap shed"]);
    at.room.on(Said, at.said);
    await Promise.resolve();
    expect(at.got).toEqual(["gap shed", "1", "gap shed", "2"]);
  });

  test("is held with up to 1,000 messages and 1,000,000 characters per room, and a gap follows for each type that did not fit", async () => {
    const at = await late((script) => {
      for (let n = 0; n < 1_010; n++) script.said(`${n}`);
    });
    await arrived(at);
    at.room.onGap(at.gapped);
    at.room.on(Typing, at.said);
    await Promise.resolve();
    expect(at.got).toEqual([]);
    at.room.on(Said, at.said);
    at.script.said("live");
    await expect.poll(() => at.got.at(-1), POLL).toBe("live");
    expect(at.got).toEqual([...Array(1_000).keys()].map(String).concat("gap shed", "live"));

    const large = await late((script) => {
      for (const letter of ["a", "b", "c"]) script.said(letter.repeat(450_000));
      script.said("d");
    });
    await arrived(large);
    large.room.onGap(large.gapped);
    large.room.on(Said, large.said);
    await Promise.resolve();
    expect(large.got.map((text) => text.slice(0, 8))).toEqual(["aaaaaaaa", "bbbbbbbb", "gap shed", "d"]);
  });

  test("is held with up to 8,000,000 characters for all rooms of a client, and leave() frees what its room holds", async () => {
    const script = new Script();
    script.answer = (frame, nth) => script.joined(frame, { topic: `${nth}` });
    const client = await script.connect();
    const rooms = [...Array(10).keys()].map((id) => joinChannel(client, Room, { id: `${id}` }));
    await Promise.all(rooms.map(({ joined }) => joined));
    const fill = (nth: number): void => script.say("SAID", { text: "x".repeat(990_000) }, { $t: `${nth}` });
    for (let nth = 1; nth <= 9; nth++) fill(nth);
    await arrived({ script, client });
    rooms[0]?.leave();
    fill(10);
    await arrived({ script, client });
    const got: string[] = [];
    for (const [index, room] of rooms.entries()) {
      room.on(Said, () => got.push(`${index}`));
      room.onGap(() => got.push(`gap ${index}`));
    }
    await Promise.resolve();
    expect(got).toEqual(["1", "2", "3", "4", "5", "6", "7", "gap 8", "9"]);
  });

  test("is kept when the server ends the membership, until a handler comes or leave() frees it", async () => {
    const at = await late(() => undefined);
    const other = joinChannel(at.client, Room, { id: "a" });
    await other.joined;
    at.script.said("1");
    at.script.say("$ws:left", { topic: TOPIC, code: "PERMISSION_DENIED" });
    await expect.poll(() => [at.room.state, other.state], POLL).toEqual(["left", "left"]);
    other.leave();
    for (const room of [other, at.room]) room.on(Said, at.said);
    await Promise.resolve();
    expect(at.got).toEqual(["1"]);
  });

  test("waits only if its channel declares it, and is not the client's own excludeSelf message", async () => {
    const at = await late((script) => {
      script.say("OTHER", { text: "1" }, { $t: TOPIC });
      script.said("mine", { $x: "client-1" });
      script.said("2");
    });
    await arrived(at);
    at.room.on(Said, at.said);
    await Promise.resolve();
    expect(at.got).toEqual(["2"]);
  });

  test("waits for the next handler when the first one removes itself during the hand-over", async () => {
    const at = await late((script) => {
      for (const text of ["1", "2", "3"]) script.said(text);
    });
    await arrived(at);
    const stop = at.room.on(Said, (said) => {
      at.said(said);
      stop();
    });
    await Promise.resolve();
    expect(at.got).toEqual(["1"]);
    at.script.said("4");
    await arrived(at);
    at.room.on(Said, at.said);
    await Promise.resolve();
    expect(at.got).toEqual(["1", "2", "3", "4"]);
  });

  test("is reported once when only a handler of the client waits for its type for 1 s", async () => {
    const at = await late(() => undefined);
    const reports: string[] = [];
    at.client.onError(({ code, message }) => reports.push(`${code} ${message}`));
    at.client.on(Said, () => at.got.push("wrong"));
    at.script.said("1");
    at.script.said("2");
    await expect
      .poll(() => reports, POLL)
      .toEqual([
        'FAILED_PRECONDITION SAID arrives only in the room of the channel "room:{id}", and only a handler of the client waits for it. Use joinChannel(…).on() or useChannelEvent().',
      ]);
    at.room.on(Said, at.said);
    at.script.said("3");
    await expect.poll(() => at.got, POLL).toEqual(["1", "2", "3"]);
    expect(reports).toHaveLength(1);
  });

  test("is not reported when the handler of the room came within 1 s, or was removed", async () => {
    const at = await late(() => undefined);
    const reports: string[] = [];
    at.client.onError(({ message }) => reports.push(message));
    for (const event of [Said, Typing]) at.client.on(event, () => at.got.push("wrong"));
    at.script.said("1");
    await arrived(at);
    const stop = at.room.on(Said, at.said);
    await expect.poll(() => at.got, POLL).toEqual(["1"]);
    stop();
    at.script.said("2");
    at.script.say("TYPING", { text: "3" }, { $t: TOPIC });
    await expect.poll(() => reports, POLL).toEqual([expect.stringMatching(/^TYPING arrives only/)]);
    expect(at.got).toEqual(["1"]);
  });
});

test("room.on refuses a message that the channel does not declare", async () => {
  const room = joinChannel(await new Script().connect(), Room, { id: "a" });
  const Other = message("OTHER", { text: z.string() });
  expect(() => room.on(Other as never, () => undefined)).toThrow(
    'OTHER is not an event of the channel "room:{id}". Declare it in events, or use the on() of the client.',
  );
});

test("joinChannel refuses what is no client", () => {
  expect(() => joinChannel({} as WsClient, Room, { id: "a" })).toThrow(/wsClient\(\)/);
});
