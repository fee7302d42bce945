/** The contract of a bus between processes. Every implementation passes it. */
import { type Bus, type BusListener, uuidv7 } from "@halyard/base";
import { describe, expect, onTestFinished, test, vi } from "vitest";

const SOON = { timeout: 10_000, interval: 10 };

/** Buses over one server, or over what stands for it. */
export interface BusServer {
  /** The bus of another process. */
  connect(): Promise<Bus>;
}

/** A server that can fail. */
export interface BrittleServer extends BusServer {
  /** Ends the subscribing connections of all processes. */
  cut(): Promise<void>;
  /** A bus whose server is not there. */
  unreachable(): Promise<Bus>;
  /** The bus tells when its connection is lost. */
  readonly tellsLoss: boolean;
}

/** Everything that a listener was told. */
interface Heard extends BusListener {
  readonly messages: string[];
  readonly losses: unknown[];
  misses: number;
}

function listener(): Heard {
  const heard: Heard = {
    messages: [],
    losses: [],
    misses: 0,
    received: (message) => void heard.messages.push(message),
    missed() {
      heard.misses += 1;
    },
    lost: (error) => void heard.losses.push(error),
  };
  return heard;
}

function subscribe(bus: Bus, heard: Heard = listener()): Heard & { stop(): void } {
  const stop = bus.subscribe(heard);
  onTestFinished(stop);
  return Object.assign(heard, { stop });
}

/** Resolves once messages arrive. */
async function ready(heard: Heard): Promise<void> {
  await vi.waitFor(() => expect(heard.misses).toBeGreaterThan(0), SOON);
}

export function busSuite(name: string, start: () => Promise<BusServer>): void {
  describe(`the bus over ${name}`, () => {
    test("carries a message to every process, the publisher included, and to each of its listeners", async () => {
      const server = await start();
      const [here, there] = [await server.connect(), await server.connect()];
      const all = [subscribe(here), subscribe(here), subscribe(there)];
      for (const heard of all) await ready(heard);
      await here.publish("from here");
      await there.publish("from there");
      for (const { messages } of all) {
        await vi.waitFor(() => expect([...messages].sort()).toEqual(["from here", "from there"]), SOON);
      }
    });

    test("calls missed before the first message, and carries what is published after that", async () => {
      const server = await start();
      const [here, there] = [await server.connect(), await server.connect()];
      const order: string[] = [];
      const heard = listener();
      subscribe(there, {
        ...heard,
        received: (message) => void order.push(message),
        missed() {
          order.push("missed");
          if (order.length === 1) void here.publish("first");
        },
      });
      await vi.waitFor(() => expect(order).toContain("first"), SOON);
      expect(order[0]).toBe("missed");
    });

    test("leaves a text of 6,000 characters as it is", async () => {
      const server = await start();
      const [here, there] = [await server.connect(), await server.connect()];
      const heard = subscribe(there);
      await ready(heard);
      const text = `{"quote":"'\\"","line":"\n","id":"${uuidv7()}"`.padEnd(6000, "x");
      await here.publish(text);
      await here.publish("ö€😀 $1");
      await vi.waitFor(() => expect(heard.messages).toEqual([text, "ö€😀 $1"]), SOON);
    });

    test("stops: a listener that was stopped is told nothing, others are", async () => {
      const server = await start();
      const [here, there] = [await server.connect(), await server.connect()];
      const [stopped, running, early] = [subscribe(there), subscribe(there), subscribe(there)];
      // Before the connection is open.
      early.stop();
      await ready(stopped);
      await ready(running);
      stopped.stop();
      const told = [stopped.misses, early.misses];
      await here.publish("after the stop");
      await vi.waitFor(() => expect(running.messages).toEqual(["after the stop"]), SOON);
      expect([...stopped.messages, ...early.messages]).toEqual([]);
      expect([stopped.misses, early.misses]).toEqual(told);
      expect([...stopped.losses, ...early.losses]).toEqual([]);
    });
  });
}

/** For buses whose server can fail. */
export function outageSuite(name: string, start: () => Promise<BrittleServer>): void {
  describe(`the bus over ${name}, in an outage`, () => {
    test("subscribes again after its connection was cut, and tells that messages were missed", async () => {
      const server = await start();
      const [here, there] = [await server.connect(), await server.connect()];
      const heard = subscribe(there);
      await ready(heard);
      for (let outage = 1; outage <= 2; outage += 1) {
        const misses = heard.misses;
        await server.cut();
        await vi.waitFor(() => expect(heard.misses).toBeGreaterThan(misses), SOON);
        // A connection of the publisher may have been cut, too.
        await vi.waitFor(async () => {
          await here.publish(`after outage ${outage}`);
          await vi.waitFor(() => expect(heard.messages).toContain(`after outage ${outage}`), {
            timeout: 1000,
            interval: 10,
          });
        }, SOON);
        if (server.tellsLoss) expect(heard.losses).toHaveLength(outage);
      }
    });

    test("rejects a message that its server did not take, and tells once that it is not connected", async () => {
      const server = await start();
      const bus = await server.unreachable();
      const heard = subscribe(bus);
      await expect(bus.publish("nothing takes it")).rejects.toThrow();
      if (server.tellsLoss) await vi.waitFor(() => expect(heard.losses).toHaveLength(1), SOON);
      expect(heard.misses).toBe(0);
    });
  });
}
