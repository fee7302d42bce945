import { describe, expect, test } from "vitest";
import { CLOSED, type Connection, type ConnectionEvent, type Elapsed, reduce } from "./connection.ts";

const SIGHT: Elapsed = { openMs: 0, silentMs: 0 };
const HELLO: ConnectionEvent = { type: "hello", heartbeatMs: 30_000, timeoutMs: 5_000 };

function after(
  events: readonly (ConnectionEvent | ConnectionEvent["type"])[],
  sight: Partial<Elapsed> = {},
  from = CLOSED,
): Connection {
  return events.reduce<Connection>(
    (link, event) =>
      reduce(
        link,
        typeof event === "string" ? ({ type: event } as ConnectionEvent) : event,
        { ...SIGHT, ...sight },
        {},
      ),
    from,
  );
}

const connecting = after(["connect"]);
const open = after(["connect", { type: "opened", greets: true }, HELLO]);
const waiting = after(["lost"], {}, open);
const retrying = after(["timer"], {}, waiting);
const closing = after([{ type: "close", code: 1000, reason: "" }], {}, open);

describe("a connection", () => {
  test("starts closed and connects on command", () => {
    expect(connecting).toMatchObject({ state: "connecting", timer: { ms: 10_000 } });
    expect(connecting.socket).toBeDefined();
  });

  test("is open with hello from a halyard peer, and with its socket from another peer", () => {
    expect(after([{ type: "opened", greets: true }], {}, connecting).state).toBe("connecting");
    expect(open.state).toBe("open");
    const plain = after([{ type: "opened", greets: false }], {}, connecting);
    expect([plain.state, plain.timer]).toEqual(["open", undefined]);
  });

  test("without hello within 10 seconds is a failed attempt", () => {
    const late = after([{ type: "opened", greets: true }, "timer"], {}, connecting);
    expect(late).toMatchObject({ state: "reconnecting", attempt: 1 });
    expect(late.socket).toBeUndefined();
  });

  test("waits after a loss, tries again, and is reconnecting the whole time", () => {
    expect(waiting).toMatchObject({ state: "reconnecting", timer: { ms: 0, backoff: 0 } });
    expect(waiting.socket).toBeUndefined();
    expect(retrying).toMatchObject({ state: "reconnecting", timer: { ms: 10_000 } });
    expect(retrying.socket).toBeDefined();
    expect(after([HELLO], {}, retrying).state).toBe("open");
  });

  test("waits for the peer on close when open, and ends immediately in every other state", () => {
    const close: ConnectionEvent = { type: "close", code: 4000, reason: "bye" };
    expect(after([close], {}, open)).toMatchObject({
      state: "closing",
      closing: close,
      timer: { ms: 2_000 },
    });
    for (const link of [CLOSED, connecting, waiting, retrying])
      expect(after([close], {}, link)).toEqual(CLOSED);
    expect(after(["lost"], {}, closing)).toEqual(CLOSED);
    expect(after(["timer"], {}, closing)).toEqual(CLOSED);
    expect(after([close], {}, closing)).toBe(closing);
  });

  test.each([
    [1008, "PERMISSION_DENIED"],
    [4401, "UNAUTHENTICATED"],
    [4403, "PERMISSION_DENIED"],
  ])("makes no further attempt after close code %i (%s)", (code) => {
    const lost: ConnectionEvent = { type: "lost", code, reason: "" };
    for (const link of [connecting, open, retrying])
      expect(after([lost], {}, link)).toMatchObject({ state: "closed", loss: lost });
  });

  test("ends after a loss without reconnect or without remaining attempts", () => {
    const end = { state: "closed", loss: { type: "lost" } };
    expect(reduce(open, { type: "lost" }, SIGHT, { enabled: false })).toMatchObject(end);
    expect(reduce(connecting, { type: "lost" }, SIGHT, { maxAttempts: 0 })).toMatchObject(end);
    expect(reduce(retrying, { type: "lost" }, SIGHT, { maxAttempts: 1 })).toMatchObject(end);
    expect(reduce(retrying, { type: "lost" }, SIGHT, { maxAttempts: 2 })).toMatchObject({
      state: "reconnecting",
    });
  });
});

describe("the delay before a reconnect", () => {
  test("grows with every loss until a connection has lasted maxDelayMs", () => {
    const flapping = after(["timer", HELLO, "lost"], { openMs: 9_999 }, waiting);
    expect(flapping).toMatchObject({ attempt: 2, timer: { backoff: 1 } });
    expect(after(["timer", HELLO, "lost"], { openMs: 10_000 }, flapping)).toMatchObject({
      attempt: 1,
      timer: { backoff: 0 },
    });
  });

  test.each([1012, 1013])("is at least the one in the reason of close code %i, up to an hour", (code) => {
    const ask = (reason: string): Connection => after([{ type: "lost", code, reason }], {}, open);
    expect(ask("retryAfterMs=2500")).toMatchObject({ held: true, timer: { ms: 2_500, backoff: 0 } });
    expect(ask("retryAfterMs=99999999999")).toMatchObject({ timer: { ms: 3_600_000 } });
    for (const reason of [
      "",
      "retryAfterMs=",
      "retryAfterMs=-1",
      "retryAfterMs=1.5",
      " retryAfterMs=1",
      "soon",
    ])
      expect(ask(reason)).toMatchObject({ held: false, timer: { ms: 0 } });
  });

  test("ignores the reason of other close codes", () => {
    const lost: ConnectionEvent = { type: "lost", code: 1001, reason: "retryAfterMs=2500" };
    expect(after([lost], {}, open)).toMatchObject({ held: false, timer: { ms: 0 } });
  });

  test("ends and restarts when the network returns, except a delay that a server requested", () => {
    const woken = after(["wake"], {}, after(["timer", "lost"], {}, waiting));
    expect(woken).toMatchObject({ state: "reconnecting", attempt: 0 });
    expect(woken.socket).toBeDefined();
    const held = after([{ type: "lost", code: 1013, reason: "retryAfterMs=5000" }, "wake"], {}, open);
    expect(held.socket).toBeUndefined();
    expect(held.timer).toMatchObject({ ms: 5_000 });
  });
});

describe("liveness", () => {
  test("is checked by a ping once a peer was silent for its heartbeat", () => {
    expect(open).toMatchObject({ timer: { ms: 30_000 } });
    expect(after(["timer"], { silentMs: 20_000 }, open)).toMatchObject({
      probing: false,
      timer: { ms: 10_000 },
    });
    expect(after(["timer"], { silentMs: 30_000 }, open)).toMatchObject({
      probing: true,
      timer: { ms: 5_000 },
    });
  });

  test("is lost when a peer stays silent after the ping, and kept after any frame", () => {
    const probing = after(["timer"], { silentMs: 30_000 }, open);
    expect(after(["timer"], { silentMs: Number.POSITIVE_INFINITY }, probing).state).toBe("reconnecting");
    expect(after(["timer"], { silentMs: 4_990 }, probing)).toMatchObject({
      state: "open",
      probing: false,
      timer: { ms: 25_010 },
    });
  });

  test("is checked for a peer without heartbeat only when the network returns", () => {
    const quiet = after([{ ...HELLO, heartbeatMs: 0 }], {}, connecting);
    expect(quiet.timer).toBeUndefined();
    expect(after(["wake"], {}, quiet)).toMatchObject({ probing: true, timer: { ms: 5_000 } });
  });

  test("is not checked for a peer without hello, which may not know pings", () => {
    const plain = after([{ type: "opened", greets: false }, "wake"], {}, connecting);
    expect(plain).toMatchObject({ state: "open" });
    expect(plain.probing).toBeFalsy();
  });

  test("is checked after a late hello under an application protocol", () => {
    const late = after([{ type: "opened", greets: false }, HELLO], {}, connecting);
    expect(late).toMatchObject({ state: "open", timer: { ms: 30_000 } });
  });
});
