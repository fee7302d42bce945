import { describe, expect, test } from "vitest";
import type { PublishResult, PubSub, PubSubStatus, Subscriber } from "../pubsub/pubsub.ts";
import { FakeClock } from "../testing/fake-clock.ts";
import { RemoteDisconnects } from "./remote-disconnects.ts";

/** The way of one process to the broker, of which either half may be broken. */
class Line implements PubSub {
  readonly #lines: Set<Line>;
  #subscriber: Subscriber | undefined;
  speaks = true;
  #hears = true;

  constructor(lines: Set<Line>) {
    this.#lines = lines;
    lines.add(this);
  }

  async subscribe(_topic: string, subscriber: Subscriber): Promise<void> {
    this.#subscriber = subscriber;
  }

  unsubscribe(): void {}

  publish(topic: string, frame: string): PublishResult {
    if (!this.speaks) return { ok: false, error: "DISCONNECTED", retryable: true };
    for (const line of this.#lines) if (line.#hears) line.#subscriber?.deliver(topic, frame, undefined);
    return { ok: true };
  }

  close(): void {
    this.speaks = false;
    this.#lines.delete(this);
  }

  get status(): PubSubStatus {
    return { connected: this.speaks && this.#hears, gaps: 0, refused: 0 };
  }

  /** Subscribers are told when they hear again, as by every pub/sub. */
  set hears(hears: boolean) {
    this.#hears = hears;
    if (hears) this.#subscriber?.missed?.(undefined);
  }
}

interface Process {
  readonly line: Line;
  /** The ages of the disconnects that it has obeyed. */
  readonly closed: readonly number[];
  tell(): Promise<void>;
}

function startProcess(lines: Set<Line>, clock: FakeClock): Process {
  const line = new Line(lines);
  const closed: number[] = [];
  const disconnects = new RemoteDisconnects(line, (_match, _how, ageMs) => void closed.push(ageMs), clock);
  disconnects.start();
  return { line, closed, tell: () => disconnects.tell({ clientId: "ann" }, 4403, "") };
}

/** Two processes that have been there for a while. */
async function startTwo() {
  const clock = new FakeClock();
  const lines = new Set<Line>();
  const [here, there] = [startProcess(lines, clock), startProcess(lines, clock)];
  await clock.advance(60_000);
  return { clock, here, there };
}

describe("a disconnect", () => {
  test("is obeyed at once by who hears it, and takes no longer than that", async () => {
    const { here, there } = await startTwo();
    await here.tell();
    expect(there.closed).toEqual([0]);
  });

  test("reaches a process that came back and asked before whoever told it could hear", async () => {
    const { clock, here, there } = await startTwo();
    for (const { line } of [here, there]) line.hears = false;
    void here.tell();
    await clock.advance(100);
    there.line.hears = true;
    await clock.advance(500);
    expect(there.closed).toEqual([]);
    here.line.hears = true;
    await clock.advance(500);
    expect(there.closed).toHaveLength(1);
  });

  test.each([
    ["in which nothing could be told", false],
    ["in which nothing could be heard", true],
  ])(
    "at an outage %s reaches who comes back later, though its process leaves once it is told",
    async (_, speaks) => {
      const { clock, here, there } = await startTwo();
      for (const { line } of [here, there]) {
        line.hears = false;
        line.speaks = speaks;
      }
      void here.tell().then(() => here.line.close());
      await clock.advance(1_000);
      here.line.speaks = true;
      here.line.hears = true;
      await clock.advance(1_000);
      there.line.speaks = true;
      there.line.hears = true;
      await clock.advance(500);
      expect(there.closed).toHaveLength(1);
    },
  );

  test("that the broker took late spares who came after it was asked for, and nobody who was there before", async () => {
    const { clock, here, there } = await startTwo();
    here.line.speaks = false;
    void here.tell();
    await clock.advance(900);
    here.line.speaks = true;
    await clock.advance(100);
    // Wall clocks tick by the millisecond: one less is the last that leaves nobody out.
    expect(there.closed).toEqual([999]);
  });
});
