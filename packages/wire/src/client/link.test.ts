import { describe, expect, test } from "vitest";
import { CLOSED, type Link, type LinkEvent, reduce, type Sight } from "./link.ts";

const SIGHT: Sight = { openMs: 0, silentMs: 0 };
const HELLO: LinkEvent = { type: "hello", heartbeatMs: 30_000, timeoutMs: 5_000 };

function after(
  events: readonly (LinkEvent | LinkEvent["type"])[],
  sight: Partial<Sight> = {},
  from = CLOSED,
): Link {
  return events.reduce<Link>(
    (link, event) =>
      reduce(
        link,
        typeof event === "string" ? ({ type: event } as LinkEvent) : event,
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

describe("states", () => {
  test("a link begins closed and connects when told to", () => {
    expect(connecting).toMatchObject({ state: "connecting", timer: { ms: 10_000 } });
    expect(connecting.socket).toBeDefined();
  });

  test("a peer that greets is open with its hello, another one with its socket", () => {
    expect(after([{ type: "opened", greets: true }], {}, connecting).state).toBe("connecting");
    expect(open.state).toBe("open");
    expect(after([{ type: "opened", greets: false }], {}, connecting)).toMatchObject({
      state: "open",
      timer: undefined,
    });
  });

  test("no hello within 10 seconds is a failed attempt", () => {
    const late = after([{ type: "opened", greets: true }, "timer"], {}, connecting);
    expect(late).toMatchObject({ state: "reconnecting", attempt: 1 });
    expect(late.socket).toBeUndefined();
  });

  test("a loss waits, then tries again, and the state is reconnecting all the while", () => {
    expect(waiting).toMatchObject({ state: "reconnecting", timer: { ms: 0, backoff: 0 } });
    expect(waiting.socket).toBeUndefined();
    expect(retrying).toMatchObject({ state: "reconnecting", timer: { ms: 10_000 } });
    expect(retrying.socket).toBeDefined();
    expect(after([HELLO], {}, retrying).state).toBe("open");
  });

  test("close waits for the peer when open, and ends at once in every other state", () => {
    const close: LinkEvent = { type: "close", code: 4000, reason: "bye" };
    expect(after([close], {}, open)).toMatchObject({
      state: "closing",
      farewell: close,
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
  ])("close code %i ends every attempt (%s)", (code) => {
    const lost: LinkEvent = { type: "lost", code, reason: "" };
    for (const link of [connecting, open, retrying])
      expect(after([lost], {}, link)).toMatchObject({ state: "closed", loss: lost });
  });

  test("without reconnect, and when the attempts are used up, a loss is the end", () => {
    const end = { state: "closed", loss: { type: "lost" } };
    expect(reduce(open, { type: "lost" }, SIGHT, { enabled: false })).toMatchObject(end);
    expect(reduce(connecting, { type: "lost" }, SIGHT, { maxAttempts: 0 })).toMatchObject(end);
    expect(reduce(retrying, { type: "lost" }, SIGHT, { maxAttempts: 1 })).toMatchObject(end);
    expect(reduce(retrying, { type: "lost" }, SIGHT, { maxAttempts: 2 })).toMatchObject({
      state: "reconnecting",
    });
  });
});

describe("waits", () => {
  test("grow with every loss until a link has held for maxDelayMs", () => {
    const flapping = after(["timer", HELLO, "lost"], { openMs: 9_999 }, waiting);
    expect(flapping).toMatchObject({ attempt: 2, timer: { backoff: 1 } });
    expect(after(["timer", HELLO, "lost"], { openMs: 10_000 }, flapping)).toMatchObject({
      attempt: 1,
      timer: { backoff: 0 },
    });
  });

  test.each([1012, 1013])("are at least what the reason of close code %i asks for, up to an hour", (code) => {
    const ask = (reason: string): Link => after([{ type: "lost", code, reason }], {}, open);
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

  test("of other close codes do not listen to the reason", () => {
    const lost: LinkEvent = { type: "lost", code: 1001, reason: "retryAfterMs=2500" };
    expect(after([lost], {}, open)).toMatchObject({ held: false, timer: { ms: 0 } });
  });

  test("end when the network comes back, and start over; but not those a server asked for", () => {
    const woken = after(["wake"], {}, after(["timer", "lost"], {}, waiting));
    expect(woken).toMatchObject({ state: "reconnecting", attempt: 0 });
    expect(woken.socket).toBeDefined();
    const held = after([{ type: "lost", code: 1013, reason: "retryAfterMs=5000" }, "wake"], {}, open);
    expect(held.socket).toBeUndefined();
    expect(held.timer).toMatchObject({ ms: 5_000 });
  });
});

describe("liveness", () => {
  test("a peer is asked for a sign of life once it was silent for its heartbeat", () => {
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

  test("a peer that stays silent after the ping is lost, one that was heard is not", () => {
    const probing = after(["timer"], { silentMs: 30_000 }, open);
    expect(after(["timer"], { silentMs: Number.POSITIVE_INFINITY }, probing).state).toBe("reconnecting");
    expect(after(["timer"], { silentMs: 4_990 }, probing)).toMatchObject({
      state: "open",
      probing: false,
      timer: { ms: 25_010 },
    });
  });

  test("a peer without heartbeat is asked only when the network comes back", () => {
    const quiet = after([{ ...HELLO, heartbeatMs: 0 }], {}, connecting);
    expect(quiet.timer).toBeUndefined();
    expect(after(["wake"], {}, quiet)).toMatchObject({ probing: true, timer: { ms: 5_000 } });
  });

  test("a peer that did not greet is never pinged: it may not know how to answer", () => {
    const plain = after([{ type: "opened", greets: false }, "wake"], {}, connecting);
    expect(plain).toMatchObject({ state: "open" });
    expect(plain.probing).toBeFalsy();
  });

  test("a hello that comes late, under an application's protocol, starts the heartbeat", () => {
    const late = after([{ type: "opened", greets: false }, HELLO], {}, connecting);
    expect(late).toMatchObject({ state: "open", timer: { ms: 30_000 } });
  });
});
