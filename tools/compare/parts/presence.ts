/** Histories of channels with presence in three processes, with kills and gaps, and what each client is told of them. */
import { createTestServer, type TestConnection, type TestServer } from "@halyard/wire/testing";
import { channel, createRouter, message, type PublishResult, type PubSub, z } from "@halyard/wire/zod";
import { createRandom, type Random } from "../../../packages/flags/test/engine/random.ts";
import type { Entry, Part } from "../part.ts";

const PROCESSES = 3;
const PEOPLE = ["ann", "ben", "cas", "dan"];
const ROOMS = ["hall", "room"];
const STEPS = 12;
const TICK_MS = 100;
/** Longer than a dead process is taken for alive, and than a lost member stays. */
const STEP_MS = 10_000;
const GAP_MS = 1_000;
const OUTAGE_MS = 5_000;

type Subscriber = Parameters<PubSub["subscribe"]>[1];
interface Person {
  clientId: string;
  name: string;
}

const Said = message("SAID", { text: z.string() });
const Room = channel("room:{id}", {
  params: { id: z.string() },
  events: [Said],
  presence: { name: z.string() },
});

/** The connection of one process to a broker. It can be cut, and it tells how many receive a message. */
class Line implements PubSub {
  readonly spansProcesses = true;
  readonly #lines: Set<Line>;
  readonly #topics = new Map<string, Set<Subscriber>>();
  #isUp = true;

  constructor(lines: Set<Line>) {
    this.#lines = lines.add(this);
  }

  cut(): void {
    this.#isUp = false;
  }

  restore(): void {
    this.#isUp = true;
    const subscribers = new Set([...this.#topics.values()].flatMap((each) => [...each]));
    for (const subscriber of subscribers) subscriber.missed?.(undefined);
  }

  async enter(
    topic: string,
    subscriber: Subscriber,
    frame: (() => string) | string,
  ): Promise<boolean | undefined> {
    this.subscribe(topic, subscriber);
    const { ok } = this.publish(topic, typeof frame === "string" ? frame : frame());
    return ok ? [...this.#lines].some((line) => line !== this && line.#receives(topic)) : undefined;
  }

  subscribe(topic: string, subscriber: Subscriber): void {
    this.#topics.set(topic, (this.#topics.get(topic) ?? new Set()).add(subscriber));
  }

  unsubscribe(topic: string, subscriber: Subscriber): void {
    const subscribers = this.#topics.get(topic);
    if (subscribers?.delete(subscriber) && subscribers.size === 0) this.#topics.delete(topic);
  }

  publish(topic: string, frame: string): PublishResult {
    if (!this.#isUp) return { ok: false, error: "DISCONNECTED", retryable: true };
    for (const line of this.#lines)
      if (line.#receives(topic))
        for (const subscriber of line.#topics.get(topic) ?? []) subscriber.deliver(topic, frame, undefined);
    return { ok: true };
  }

  close(): void {
    this.#isUp = false;
    this.#lines.delete(this);
  }

  get status() {
    return { connected: this.#isUp, gaps: 0, refused: 0 };
  }

  #receives(topic: string): boolean {
    return this.#isUp && this.#topics.has(topic);
  }
}

/** A client in one room, and the frames that it has not been asked about. */
class Client {
  readonly name: string;
  readonly room: string;
  readonly connection: TestConnection;
  #read = 0;

  constructor(name: string, room: string, connection: TestConnection) {
    this.name = name;
    this.room = room;
    this.connection = connection;
  }

  send(is: "join" | "leave"): Promise<void> {
    const payload = { channel: "room:{id}", params: { id: this.room } };
    return this.connection.sendRaw(
      JSON.stringify({ type: `$ws:${is}`, meta: { correlationId: is }, payload }),
    );
  }

  /** Who joined and left since the last call, in no order, and whether the list ended partial. */
  take(): unknown {
    const frames = this.connection.frames.slice(this.#read);
    this.#read = this.connection.frames.length;
    const told: string[] = [];
    let isPartial: unknown;
    for (const { type, payload } of frames) {
      if (type !== "$ws:members" && type !== "$ws:joined") continue;
      const fields = payload as Record<string, unknown>;
      const list = fields["presence"] ?? fields;
      const { members = [], joined = [], left = [], partial } = list as Record<string, unknown[]>;
      for (const member of [...members, ...joined]) told.push(`+ ${(member as { key: string }).key}`);
      for (const key of left) told.push(`- ${key}`);
      isPartial = partial;
    }
    return { told: [...new Set(told)].sort(), isPartial };
  }
}

interface Process {
  readonly line: Line;
  readonly server: TestServer<Person>;
  readonly clients: Set<Client>;
}

/** Three processes with one history. */
class World {
  readonly #lines = new Set<Line>();
  readonly #processes: Process[] = [];

  constructor() {
    for (let at = 0; at < PROCESSES; at++) this.#processes.push(this.#start());
  }

  #start(): Process {
    const line = new Line(this.#lines);
    const router = createRouter<Person>({ pubsub: line }).channel(Room, {
      authorize: () => true,
      presence: (ctx) => ({ key: ctx.data.name, name: `Name of ${ctx.data.name}` }),
    });
    return { line, server: createTestServer(router), clients: new Set() };
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += TICK_MS)
      for (const { server } of this.#processes) await server.clock.advance(TICK_MS);
  }

  /** One event, after which time passes. */
  async step(random: Random): Promise<string> {
    const at = random.below(PROCESSES);
    const process = this.#processes[at] as Process;
    const client = [...process.clients][random.below(Math.max(1, process.clients.size))];
    const chance = random.below(100);
    if (chance < 50 || client === undefined) {
      const [name, room] = [random.pick(PEOPLE), random.pick(ROOMS)];
      const joined = new Client(name, room, await process.server.connect({ data: { name } }));
      process.clients.add(joined);
      await joined.send("join");
      return `${name} joins ${room} in ${at}`;
    }
    if (chance < 80) {
      const isLeaving = chance < 65;
      if (isLeaving) await client.send("leave");
      else await client.connection.disconnect(1006);
      process.clients.delete(client);
      return `${client.name} ${isLeaving ? "leaves" : "loses"} ${client.room} in ${at}`;
    }
    if (chance < 88) {
      process.line.close();
      this.#processes[at] = this.#start();
      return `kill of ${at}`;
    }
    const cut = chance < 95 ? [process] : this.#processes;
    for (const { line } of cut) line.cut();
    await this.pass(chance < 95 ? GAP_MS : OUTAGE_MS);
    for (const { line } of cut) line.restore();
    return chance < 95 ? `gap of ${at}` : "outage";
  }

  /** What each client was told since the last call. */
  take(): unknown[] {
    return this.#processes.map(({ clients }) =>
      [...clients].map((client) => [client.name, client.room, client.take()]),
    );
  }

  async close(): Promise<void> {
    for (const { line, server } of this.#processes) {
      line.close();
      await server.close();
    }
  }
}

export const presence: Part<null> = {
  comparesRows: false,
  async prepare() {
    return null;
  },
  async run({ seed, size, record }) {
    for (let history = 0; history < size; history++) {
      const random = createRandom(seed + history);
      const world = new World();
      const done: string[] = [];
      await world.pass(STEP_MS);
      for (let step = 0; step < STEPS; step++) {
        done.push(await world.step(random));
        await world.pass(STEP_MS);
        record({ about: `history ${history}: ${done.join(", ")}`, seen: world.take() } satisfies Entry);
      }
      await world.close();
    }
  },
};
