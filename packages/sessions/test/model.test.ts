/**
 * All interleavings of three operations on one session in two processes, with messages that are lost or arrive in any
 * order. Each schedule runs on the real cache and the real feed.
 */
import { afterEach, expect, test, vi } from "vitest";
import { ChangeFeed } from "../src/changes/change-feed.ts";
import { type IdentityChange, RecentChanges } from "../src/changes/identity-change.ts";
import { PrincipalCache } from "../src/identify/principal-cache.ts";
import { toReading } from "../src/identify/session-caller.ts";
import { LiveSessions } from "../src/watched/live-sessions.ts";

type Operation = "remember" | "change" | "forget";
const OPERATIONS: readonly Operation[] = ["remember", "change", "forget"];
const PROCESSES = [0, 1] as const;
const KEY = "cookie";
const TOKEN = "token";
const USER = "ann";
/** Longer than a verification counts without a message. */
const FLOOR_MS = 5000;

interface Step {
  readonly name: string;
  run(): void;
}

/** The database, two processes with a cache each, and the messages between them. */
class World {
  /** The version of the session in the database. A change makes the next one. */
  version = 0;
  nowMs = 0;
  /** The lowest version that each process may still use. */
  readonly floor = [0, 0];
  readonly caches: PrincipalCache[];
  readonly #waiting: { readonly operation: Operation; readonly process: number }[];
  readonly #readings: { readonly process: number; readonly version: number; readonly atMs: number }[] = [];
  readonly #messages: { readonly to: number; readonly version: number }[] = [];

  constructor(operations: readonly (readonly [Operation, number])[]) {
    this.#waiting = operations.map(([operation, process]) => ({ operation, process }));
    const clock = () => this.nowMs;
    this.caches = PROCESSES.map(() => new PrincipalCache({ monotonicMs: clock, nowMs: clock }));
  }

  /** What may happen next. */
  steps(): Step[] {
    const next: Step[] = this.#waiting.map((waiting) => ({
      name: `${waiting.operation} in ${waiting.process}`,
      run: () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        this.#begin(waiting.operation, waiting.process);
      },
    }));
    for (const reading of this.#readings) {
      next.push({
        name: `answer of version ${reading.version} to ${reading.process}`,
        run: () => {
          this.#readings.splice(this.#readings.indexOf(reading), 1);
          this.#remember(reading.process, reading.version, reading.atMs);
        },
      });
    }
    for (const message of this.#messages) {
      const take = () => this.#messages.splice(this.#messages.indexOf(message), 1);
      next.push({
        name: `message to ${message.to}`,
        run: () => {
          take();
          this.#apply(message.to, message.version);
        },
      });
      next.push({ name: `loss of the message to ${message.to}`, run: take });
    }
    return next;
  }

  /** The version that a request in this process gets from memory. */
  recalled(process: number): number | undefined {
    const recalled = this.caches[process]?.recall(KEY);
    if (recalled === undefined || recalled instanceof Promise) return undefined;
    const { caller } = recalled.principal;
    return caller.kind === "user" ? Number(caller.user.role) : undefined;
  }

  #begin(operation: Operation, process: number): void {
    if (operation === "remember") {
      this.#readings.push({ process, version: this.version, atMs: this.nowMs });
      return;
    }
    if (operation === "change") this.version += 1;
    this.#apply(process, this.version);
    this.#messages.push({ to: 1 - process, version: this.version });
  }

  #apply(process: number, version: number): void {
    this.caches[process]?.apply({ kind: "user", id: USER });
    this.floor[process] = Math.max(this.floor[process] ?? 0, version);
  }

  #remember(process: number, version: number, atMs: number): void {
    const user = { id: USER, email: "ann@example.com", role: String(version) };
    const facts = {
      caller: { kind: "user", user } as const,
      credentialId: TOKEN,
      validUntilMs: Number.POSITIVE_INFINITY,
    };
    this.caches[process]?.remember(KEY, facts, atMs);
  }
}

interface Search {
  readonly schedules: number;
  /** The first schedule after which a process used what a change had taken away. */
  readonly violation: string | undefined;
}

function search(operations: readonly (readonly [Operation, number])[]): Search {
  let schedules = 0;
  /** Runs the schedule again from the start, because a cache cannot be copied. */
  const explore = (schedule: readonly number[]): string | undefined => {
    const world = new World(operations);
    const names: string[] = [];
    for (const at of schedule) {
      const step = world.steps()[at];
      world.nowMs += 1;
      step?.run();
      names.push(step?.name ?? "");
      const problem = stale(world);
      if (problem !== undefined) return `${names.join(", ")}: ${problem}`;
    }
    const choices = world.steps().length;
    if (choices === 0) {
      schedules += 1;
      world.nowMs += FLOOR_MS;
      const late = PROCESSES.find((process) => (world.recalled(process) ?? world.version) < world.version);
      return late === undefined ? undefined : `${names.join(", ")}: process ${late} is stale after 5 s`;
    }
    for (let at = 0; at < choices; at += 1) {
      const violation = explore([...schedule, at]);
      if (violation !== undefined) return violation;
    }
    return undefined;
  };
  const violation = explore([]);
  return { schedules, violation };
}

function stale(world: World): string | undefined {
  for (const process of PROCESSES) {
    const version = world.recalled(process);
    const least = world.floor[process] ?? 0;
    if (version !== undefined && version < least)
      return `process ${process} used version ${version} after ${least}`;
  }
  return undefined;
}

/** Every choice of three operations, each in one of two processes. */
function choices(): (readonly [Operation, number])[][] {
  const single = OPERATIONS.flatMap((operation) => PROCESSES.map((process) => [operation, process] as const));
  return single.flatMap((one) => single.flatMap((two) => single.map((three) => [one, two, three])));
}

afterEach(() => {
  vi.restoreAllMocks();
});

test("no interleaving of three operations lets a process use what a change took away", () => {
  let schedules = 0;
  for (const operations of choices()) {
    const { violation, schedules: searched } = search(operations);
    expect(violation).toBeUndefined();
    schedules += searched;
  }
  expect(schedules).toBeGreaterThan(10_000);
});

test("without tombstones the search finds a lookup that undoes a change", () => {
  vi.spyOn(RecentChanges.prototype, "includes").mockReturnValue(false);
  const violations = choices().map((operations) => search(operations).violation);
  expect(violations).toContainEqual(expect.stringContaining("used version 0 after 1"));
});

/** A followed session whose readings end when the schedule says so. */
function followed() {
  const feed = new ChangeFeed();
  let version = 0;
  const readings: { readonly version: number; end(): void }[] = [];
  const sessions = new LiveSessions({
    feed,
    report: (error) => {
      throw error;
    },
    reader: {
      isBatched: true,
      read: () => {
        const read = version;
        const session = { id: "s", token: TOKEN, userId: USER, expiresAt: new Date(9e12) };
        const reading = toReading(session, { id: USER, role: String(read) }, undefined);
        return new Promise((resolve) =>
          readings.push({ version: read, end: () => resolve(new Map([["s", reading]])) }),
        );
      },
    },
  });
  const change: IdentityChange = { kind: "user", id: USER };
  return {
    sessions,
    readings,
    version: () => version,
    change: () => {
      version += 1;
      feed.apply(change);
    },
    identify: () => sessions.identify({ sessionId: "s", token: TOKEN }),
  };
}

const rest = () => new Promise((resolve) => setTimeout(resolve));

/** Runs a schedule of connections, changes and ends of readings; then lets every reading end. */
async function play(schedule: readonly ("connect" | "change" | "end")[]) {
  const world = followed();
  const found: Promise<unknown>[] = [];
  for (const step of schedule) {
    if (step === "connect") found.push(world.identify().then((caller) => caller?.role));
    else if (step === "change") world.change();
    else world.readings.shift()?.end();
    await rest();
  }
  while (world.readings.length > 0) {
    world.readings.shift()?.end();
    await rest();
  }
  const [live] = world.sessions.all();
  return {
    version: String(world.version()),
    held: live?.reading?.caller.role,
    found: await Promise.all(found),
  };
}

function schedules(length: number): ("connect" | "change" | "end")[][] {
  if (length === 0) return [[]];
  return schedules(length - 1).flatMap((schedule) =>
    (["connect", "change", "end"] as const).map((step) => [...schedule, step]),
  );
}

test("a followed session ends every schedule of connections and changes with the last version", async () => {
  for (const schedule of schedules(4)) {
    const { version, held } = await play(["connect", ...schedule]);
    expect([schedule, held]).toEqual([schedule, version]);
  }
});

test("without tombstones a followed session keeps a version that a change replaced", async () => {
  vi.spyOn(ChangeFeed.prototype, "hasChanged").mockReturnValue(false);
  const { version, held } = await play(["connect", "change", "end"]);
  expect([version, held]).toEqual(["1", "0"]);
});
