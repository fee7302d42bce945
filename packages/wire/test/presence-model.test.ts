/**
 * All interleavings of joins, leaves and one crash in two processes, with messages that arrive in any order, once twice,
 * or not at all. Each schedule runs on the real state and the real messages.
 */
import { afterEach, describe, expect, test, vi } from "vitest";
import { createEntry, memberOf } from "../src/channels/presence/entry.ts";
import { MemberLists } from "../src/channels/presence/member-lists.ts";
import { type Batch, OwnMembers } from "../src/channels/presence/own-members.ts";
import { PeerProcess } from "../src/channels/presence/peer-process.ts";
import {
  decodePresence,
  encodeAnswer,
  encodeAsk,
  encodeChanges,
  encodeSince,
  type PresenceMessage,
  splitTopics,
} from "../src/channels/presence/presence-message.ts";
import { type PresenceOutput, PresenceState } from "../src/channels/presence/presence-state.ts";
import { decodePeer, encodePeer } from "../src/peers/peer-message.ts";
import { PeerState } from "../src/peers/peer-state.ts";

const TOPIC = "$c/room";
const TICK_MS = 200;
/** Members of a dead process are gone within this time: 3 s of silence, and a tick. */
const GONE_MS = 3_400;

/** `join 0 ann`: ann joins in process 0. */
type Operation = `${"join" | "leave"} ${0 | 1} ${"ann" | "ben"}` | "crash 1";

interface Sent {
  readonly to: number;
  readonly text: string;
}

/** Changes a message, or drops it, as a broken protocol would. */
type Mutation = (message: PresenceMessage) => PresenceMessage | undefined;

/** The version that a sign of life tells. */
type Note = (version: number) => number;

/** One process: its state, and the connections of its clients. */
class Process {
  readonly state: PresenceState;
  readonly peers: PeerState;
  /** The number of the join of each client that is connected. */
  readonly joined: Map<string, number> = new Map();
  isAlive = true;

  constructor(
    index: number,
    send: (to: number | undefined, text: string) => void,
    now: () => number,
    note: Note,
  ) {
    const id = `process-${index}`;
    const to = (process: string | undefined) => (process === undefined ? undefined : Number(process.at(-1)));
    const output: PresenceOutput = {
      changes: (batch: Batch) => {
        for (const text of encodeChanges(id, batch)) send(undefined, text);
      },
      ask: (version, ask, topics, process) => send(to(process), encodeAsk(id, version, ask, topics)),
      since: (version, ask, since, process) => send(to(process), encodeSince(id, version, ask, since)),
      answer: (ask, states, process) => {
        for (const text of encodeAnswer(id, ask, states)) send(to(process), text);
      },
      listChanged: () => undefined,
      split: splitTopics,
    };
    const signOfLife = () => note(this.state.lists.own.version);
    this.peers = new PeerState(
      id,
      {
        say: (sign, process) =>
          send(to(process), encodePeer({ from: id, is: "alive", ...sign, note: signOfLife() })),
        asked: () => undefined,
        told: (peer, version) => this.state.told(peer, version as number, now()),
        leaving: () => undefined,
        gone: (peer) => this.state.gone(peer),
        changed: () => this.state.connectionChanged(now()),
      },
      true,
    );
    this.state = new PresenceState(id, output, this.peers, true);
  }

  receive(text: string, now: number): void {
    const sign = decodePeer(text);
    const message = decodePresence(text);
    if (sign !== undefined) this.peers.receive(sign, now);
    if (message === undefined) return;
    this.peers.expect(message.from, now);
    this.state.receive(message, now);
  }

  tick(now: number): void {
    this.peers.tick(now);
    this.state.tick(now);
  }

  get list(): string[] {
    return [...this.state.lists.list(TOPIC).keys()].sort();
  }

  /** The joins behind the list, as `ann 1`. */
  get joins(): string[] {
    return [...this.state.lists.list(TOPIC).values()].map((entry) => {
      const { key, join } = memberOf(entry);
      return `${key} ${join}`;
    });
  }

  /** Everything that decides what the process does next. */
  get fingerprint(): unknown {
    const { lists } = this.state;
    const { version, topics } = lists.own.statesSince(0);
    const peers = [...lists.peers.values()].map((peer) => [
      peer.version,
      peer.isStale,
      peer.catchUp,
      [...peer.unknown],
      peer.versionOf(TOPIC),
      [...peer.entries(TOPIC)],
    ]);
    return [this.isAlive, [...this.joined].sort(), lists.isWatched(TOPIC), version, [...topics], peers];
  }
}

class World {
  nowMs = 0;
  readonly processes: readonly Process[];
  readonly #waiting: Operation[];
  readonly #mutate: Mutation;
  readonly #faults: { loss: number; duplicate: number };
  #messages: Sent[] = [];
  /** How many requests each process has sent: their ids count up. */
  readonly #sent = [0, 0];
  #joins = 0;
  /** The joins that each process has shown, of clients who have not left since. */
  readonly #shown = [new Set<string>(), new Set<string>()];

  constructor(operations: readonly Operation[], mutate: Mutation, note: Note) {
    this.#waiting = [...operations];
    this.#mutate = mutate;
    this.#faults = { loss: 0, duplicate: 0 };
    const now = () => this.nowMs;
    this.processes = [0, 1].map(
      (index) => new Process(index, (to, text) => this.#send(index, to, text), now, note),
    );
    for (const { peers } of this.processes) peers.live(0);
    for (let tick = 0; tick < 5; tick++) this.#quietTick();
    // Longer programs have too many states with both.
    this.#faults = { loss: 1, duplicate: operations.length > 3 ? 0 : 1 };
  }

  /** What may happen next. Operations of one client keep their order. */
  steps(): { readonly name: string; run(): void }[] {
    const clients = new Set<string>();
    const next: { readonly name: string; run(): void }[] = [];
    for (const operation of this.#waiting) {
      const client = operation.split(" ")[2] ?? "";
      if (clients.has(client)) continue;
      clients.add(client);
      next.push({ name: operation, run: () => this.#operate(operation) });
    }
    for (const message of new Map(this.#messages.map((sent) => [`${sent.to} ${sent.text}`, sent])).values()) {
      const name = `${decodePresence(message.text)?.is ?? "alive"} to ${message.to}`;
      const take = () => void this.#messages.splice(this.#messages.indexOf(message), 1);
      next.push({
        name,
        run: () => {
          take();
          this.#deliver(message);
        },
      });
      if (this.#faults.loss > 0)
        next.push({
          name: `loss of ${name}`,
          run: () => {
            this.#faults.loss--;
            take();
          },
        });
      if (this.#faults.duplicate > 0)
        next.push({
          name: `${name}, and again later`,
          run: () => {
            this.#faults.duplicate--;
            this.#deliver(message);
          },
        });
    }
    return next;
  }

  get fingerprint(): string {
    const messages = this.#messages.map(({ to, text }) => `${to} ${text}`).sort();
    const shown = this.#shown.map((names) => [...names].sort());
    const processes = this.processes.map(({ fingerprint }) => fingerprint);
    return JSON.stringify([this.#waiting, this.#joins, this.#faults, messages, shown, this.#sent, processes]);
  }

  /** What is wrong now. */
  problem(): string | undefined {
    for (const [index, process] of this.processes.entries()) {
      if (!process.isAlive || !process.state.lists.isWatched(TOPIC)) continue;
      const { list, joined, joins } = process;
      for (const name of joined.keys()) if (!list.includes(name)) return `${name} is not in the own list`;
      const shown = this.#shown[index];
      for (const join of [...(shown ?? [])])
        if (!this.#isPresent(join)) shown?.delete(join);
        else if (!list.includes(join.split(" ")[0] ?? "")) return `${join} vanished from process ${index}`;
      for (const join of joins) if (this.#isPresent(join)) shown?.add(join);
    }
    return undefined;
  }

  /** What is wrong after all messages have arrived and time has passed. */
  finalProblem(): string | undefined {
    const truth = ["ann", "ben"].filter((name) =>
      this.processes.some(({ isAlive, joined }) => isAlive && joined.has(name)),
    );
    for (const { isAlive, state } of this.processes) if (isAlive) state.watch(TOPIC);
    for (const endMs = this.nowMs + GONE_MS; this.nowMs < endMs; ) this.#quietTick();
    for (const [index, { isAlive, state, list }] of this.processes.entries()) {
      if (!isAlive) continue;
      if (list.join() !== truth.join()) return `process ${index} lists [${list}] instead of [${truth}]`;
      if (!state.isComplete(TOPIC)) return `process ${index} never has the whole list`;
    }
    return undefined;
  }

  #isPresent(join: string): boolean {
    return this.processes.some(
      ({ isAlive, joined }) => isAlive && [...joined].some(([name, number]) => `${name} ${number}` === join),
    );
  }

  #operate(operation: Operation): void {
    this.#waiting.splice(this.#waiting.indexOf(operation), 1);
    const [kind, index, name = ""] = operation.split(" ");
    const process = this.processes[Number(index)];
    if (process === undefined || !process.isAlive) return;
    const { state, joined } = process;
    if (kind === "crash") {
      process.isAlive = false;
      return;
    }
    if (kind === "join") {
      state.watch(TOPIC);
      state.ask(this.nowMs);
      const join = ++this.#joins;
      joined.set(name, join);
      state.lists.setOwn(TOPIC, name, createEntry({ key: name, join }, this.nowMs));
    } else {
      joined.delete(name);
      state.lists.setOwn(TOPIC, name, undefined);
    }
    state.flush();
    if (joined.size > 0) return;
    // No client is left to show the list to.
    state.unwatch(TOPIC);
    this.#shown[Number(index)]?.clear();
  }

  #send(from: number, to: number | undefined, text: string): void {
    const message = decodePresence(text);
    const mutated = message && this.#mutate(message);
    if (message !== undefined && mutated === undefined) return;
    if (mutated?.is === "ask" || mutated?.is === "since") this.#sent[from] = (this.#sent[from] ?? 0) + 1;
    const sent = mutated === undefined ? text : this.#encode(mutated, text);
    for (const index of to === undefined ? [0, 1] : [to]) {
      // A process receives its own messages at once.
      if (index === from) this.processes[index]?.receive(sent, this.nowMs);
      else this.#messages.push({ to: index, text: sent });
    }
  }

  /** A mutated message is written again. Only numbers are changed. */
  #encode(message: PresenceMessage, text: string): string {
    const root = JSON.parse(text) as Record<string, unknown>;
    root["version"] = message.version;
    if (message.is === "changes") root["previous"] = message.previous;
    return JSON.stringify(root);
  }

  #deliver({ to, text }: Sent): void {
    const process = this.processes[to];
    if (process?.isAlive) process.receive(text, this.nowMs);
  }

  #quietTick(): void {
    this.nowMs += TICK_MS;
    for (const process of this.processes) {
      if (!process.isAlive) continue;
      process.state.ask(this.nowMs);
      process.tick(this.nowMs);
    }
    while (this.#messages.length > 0) {
      const messages = this.#messages;
      this.#messages = [];
      for (const message of messages) this.#deliver(message);
    }
  }
}

interface Search {
  readonly states: number;
  /** The first schedule that goes wrong. */
  readonly violation: string | undefined;
}

/** Every schedule runs from the start, because a state cannot be copied, up to a state that was reached before. */
function search(
  operations: readonly Operation[],
  mutate: Mutation = (message) => message,
  note: Note = (version) => version,
): Search {
  const reached = new Set<string>();
  /** The choice at each step of the current schedule, and how many there were. */
  const path: { at: number; choices: number }[] = [];
  for (;;) {
    const world = new World(operations, mutate, note);
    const names: string[] = [];
    let problem: string | undefined;
    for (let depth = 0; problem === undefined; depth++) {
      // The states of the path so far were new.
      if (depth >= path.length) {
        const { fingerprint } = world;
        if (reached.has(fingerprint)) break;
        reached.add(fingerprint);
      }
      const steps = world.steps();
      if (steps.length === 0) {
        problem = world.finalProblem() ?? world.problem();
        break;
      }
      const choice = path[depth] ?? { at: 0, choices: steps.length };
      path[depth] = choice;
      const step = steps[choice.at];
      step?.run();
      names.push(step?.name ?? "");
      problem = world.problem();
    }
    const states = reached.size;
    if (problem !== undefined) return { states, violation: `${names.join(", ")}: ${problem}` };
    while (path.length > 0 && (path.at(-1)?.at ?? 0) + 1 === path.at(-1)?.choices) path.pop();
    const last = path.at(-1);
    if (last === undefined) return { states, violation: undefined };
    last.at++;
  }
}

/** Two clients, two processes, joins and leaves, and at most one crash. */
const PROGRAMS = {
  together: ["join 0 ann", "join 1 ben"],
  leave: ["join 0 ann", "join 1 ben", "leave 1 ben"],
  // One member with a connection to each process: its leave in one must not remove it from the other.
  move: ["join 0 ann", "join 1 ann", "leave 1 ann"],
  moveBack: ["join 1 ann", "join 0 ann", "leave 1 ann"],
  both: ["join 1 ben", "join 0 ann", "join 0 ben"],
  crash: ["join 0 ann", "join 1 ben", "crash 1"],
  crashLater: ["join 1 ann", "join 0 ben", "leave 0 ben", "crash 1"],
  again: ["join 0 ann", "leave 0 ann", "join 0 ann", "join 1 ben"],
} as const satisfies Record<string, readonly Operation[]>;

afterEach(() => {
  vi.restoreAllMocks();
});

describe("in every schedule, all live processes list exactly the members who are there", {
  timeout: 60_000,
}, () => {
  test.each(Object.entries(PROGRAMS))("of %s: %s", (_, program) => {
    const { violation, states } = search(program);
    expect(violation).toBeUndefined();
    expect(states).toBeGreaterThan(100);
  });
});

describe("the search finds a schedule that goes wrong when", { timeout: 60_000 }, () => {
  test("gaps between versions are not noticed", () => {
    const { violation } = search(PROGRAMS.both, (message) =>
      message.is === "changes" ? { ...message, previous: 0 } : message,
    );
    expect(violation).toContain("loss of changes");
  });

  test("signs of life do not tell the version, so that a lost last change stays unknown", () => {
    const { violation } = search(PROGRAMS.together, undefined, () => 0);
    expect(violation).toContain("loss of");
  });

  test("missed changes are not answered", () => {
    const { statesSince } = OwnMembers.prototype;
    vi.spyOn(OwnMembers.prototype, "statesSince").mockImplementation(function (this: OwnMembers, version) {
      return { ...statesSince.call(this, version), topics: new Map() };
    });
    expect(search(PROGRAMS.together).violation).toContain("instead of");
  });

  test("topics that became empty are forgotten", () => {
    const { statesSince } = OwnMembers.prototype;
    vi.spyOn(OwnMembers.prototype, "statesSince").mockImplementation(function (this: OwnMembers, version) {
      const states = statesSince.call(this, version);
      return { ...states, topics: new Map([...states.topics].filter(([, entries]) => entries.length > 0)) };
    });
    expect(search(PROGRAMS.leave).violation).toContain("loss of");
  });

  test("a state that is older than what is known counts", () => {
    vi.spyOn(PeerProcess.prototype, "needs").mockImplementation(function (this: PeerProcess, topic) {
      this.unknown.set(topic, 0);
    });
    vi.spyOn(PeerProcess.prototype, "versionOf").mockReturnValue(0);
    expect(search(PROGRAMS.again).violation).toBeDefined();
  });

  test("the leave of one process removes the member of another", () => {
    const { setHeld } = MemberLists.prototype;
    vi.spyOn(MemberLists.prototype, "setHeld").mockImplementation(function (
      this: MemberLists,
      peer,
      topic,
      key,
      entry,
    ) {
      if (entry === undefined && peer.get(topic, key) !== undefined) this.setOwn(topic, key, undefined);
      return setHeld.call(this, peer, topic, key, entry);
    });
    expect(search(PROGRAMS.move).violation).toContain("ann is not in the own list");
  });

  test("the members of a dead process stay", () => {
    vi.spyOn(MemberLists.prototype, "remove").mockImplementation(() => undefined);
    expect(search(PROGRAMS.crash).violation).toContain("crash 1");
  });

  test("the first joiner asks no other process", () => {
    vi.spyOn(PresenceState.prototype, "watch").mockImplementation(function (this: PresenceState, topic) {
      this.lists.watch(topic);
    });
    expect(search(PROGRAMS.together).violation).toContain("instead of");
  });
});
