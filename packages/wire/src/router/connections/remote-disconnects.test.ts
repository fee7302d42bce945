import { describe, expect, test } from "vitest";
import { Peers } from "../../peers/peers.ts";
import type { PublishResult, PubSub, PubSubStatus, Subscriber } from "../../pubsub/pubsub.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import { RemoteDisconnects } from "./remote-disconnects.ts";

/** The connection of one process to the broker. Either direction may be broken. */
class BrokerConnection implements PubSub {
  readonly #connections: Set<BrokerConnection>;
  #subscriber: Subscriber | undefined;
  canPublish = true;
  #canReceive = true;

  constructor(connections: Set<BrokerConnection>) {
    this.#connections = connections;
    connections.add(this);
  }

  async subscribe(_topic: string, subscriber: Subscriber): Promise<void> {
    this.#subscriber = subscriber;
  }

  unsubscribe(): void {}

  publish(topic: string, frame: string): PublishResult {
    if (!this.canPublish) return { ok: false, error: "DISCONNECTED", retryable: true };
    for (const connection of this.#connections)
      if (connection.#canReceive) connection.#subscriber?.deliver(topic, frame, undefined);
    return { ok: true };
  }

  close(): void {
    this.canPublish = false;
    this.#connections.delete(this);
  }

  get status(): PubSubStatus {
    return { connected: this.canPublish && this.#canReceive, gaps: 0, refused: 0 };
  }

  /** Notifies subscribers when they receive messages again, as every pub/sub does. */
  set canReceive(canReceive: boolean) {
    this.#canReceive = canReceive;
    if (canReceive) this.#subscriber?.missed?.(undefined);
  }
}

interface Process {
  readonly connection: BrokerConnection;
  /** The ages of the disconnects that it has applied. */
  readonly closed: readonly number[];
  tell(): Promise<void>;
}

function startProcess(connections: Set<BrokerConnection>, clock: FakeClock): Process {
  const connection = new BrokerConnection(connections);
  const closed: number[] = [];
  const disconnects = new RemoteDisconnects(
    connection,
    (_match, _how, ageMs) => void closed.push(ageMs),
    new Peers(connection, clock),
  );
  disconnects.start();
  return { connection, closed, tell: () => disconnects.publish({ clientId: "ann" }, 4403, "") };
}

/** Two processes that have run for some time. */
async function startTwo() {
  const clock = new FakeClock();
  const connections = new Set<BrokerConnection>();
  const [here, there] = [startProcess(connections, clock), startProcess(connections, clock)];
  await clock.advance(60_000);
  return { clock, here, there };
}

describe("a disconnect", () => {
  test("is applied immediately by a process that receives it", async () => {
    const { here, there } = await startTwo();
    await here.tell();
    expect(there.closed).toEqual([0]);
  });

  test("reaches a process that reconnects and asks before the sender can receive", async () => {
    const { clock, here, there } = await startTwo();
    for (const { connection } of [here, there]) connection.canReceive = false;
    void here.tell();
    await clock.advance(100);
    there.connection.canReceive = true;
    await clock.advance(500);
    expect(there.closed).toEqual([]);
    here.connection.canReceive = true;
    await clock.advance(500);
    expect(there.closed).toHaveLength(1);
  });

  test.each([
    ["in which publishing failed", false],
    ["in which receiving failed", true],
  ])(
    "at an outage %s reaches a process that reconnects later, although the sender ends once it is confirmed",
    async (_, canPublish) => {
      const { clock, here, there } = await startTwo();
      for (const { connection } of [here, there]) {
        connection.canReceive = false;
        connection.canPublish = canPublish;
      }
      void here.tell().then(() => here.connection.close());
      await clock.advance(1_000);
      here.connection.canPublish = true;
      here.connection.canReceive = true;
      await clock.advance(1_000);
      there.connection.canPublish = true;
      there.connection.canReceive = true;
      await clock.advance(500);
      expect(there.closed).toHaveLength(1);
    },
  );

  test("that the broker accepted late closes the connections opened before the request and no later ones", async () => {
    const { clock, here, there } = await startTwo();
    here.connection.canPublish = false;
    void here.tell();
    await clock.advance(900);
    here.connection.canPublish = true;
    await clock.advance(100);
    // Wall clocks have a resolution of one millisecond, so one less is the last value that includes every earlier connection.
    expect(there.closed).toEqual([999]);
  });
});
