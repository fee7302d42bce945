/** Which processes serve the flags, and the state of each: asked on the notification bus when a person looks. */
import * as z from "zod";
import type { FlagsProcess } from "../model/console.ts";
import type { Announcer } from "../store/announcer.ts";
import { areRequestsIsolated } from "../store/isolated-requests.ts";
import { sleep } from "../store/wait.ts";

/** Longer than a process needs: it waits at most a second for its database. */
const ANSWERS_MS = 1500;
const MAX_PROCESSES = 500;
const MAX_TEXT = 100;

/** The state of a process apart from its name. */
export type ProcessState = Omit<FlagsProcess, "id">;

export interface Processes {
  /** The bus to ask on. Returns it. */
  connect(bus: Announcer): Announcer;
  /** A text from the bus: a question of a process, or an answer. */
  received(text: string): void;
  /** This process first, then those that answer within 1.5 s; alone while no bus is up. */
  list(): Promise<readonly FlagsProcess[]>;
}

const text = z.string().max(MAX_TEXT);
const question = z.strictObject({ ask: text });
const answer = z.strictObject({
  to: text,
  process: z.strictObject({
    id: text,
    startedAt: text,
    version: text,
    revision: z.number(),
    snapshotAgeMs: z.number().nullable(),
    stale: z.boolean(),
    fastPath: z.enum(["on", "off"]),
  }),
});
/** Any process with access to the bus can publish, so every field is checked. */
const message = z.union([question, answer]);

/** `state` never rejects. */
export function createProcesses(state: () => Promise<ProcessState>): Processes {
  const id = crypto.randomUUID();
  /** What was answered so far, by question. */
  const open = new Map<string, Map<string, FlagsProcess>>();
  let bus: Announcer | undefined;
  let asking: Promise<readonly FlagsProcess[]> | undefined;

  async function self(): Promise<FlagsProcess> {
    return { id, ...(await state()) };
  }

  async function respond(to: string): Promise<void> {
    bus?.send(JSON.stringify({ to, process: await self() }));
  }

  async function ask(): Promise<readonly FlagsProcess[]> {
    if (bus?.state() !== "up") return [await self()];
    const number = crypto.randomUUID();
    const answers = new Map<string, FlagsProcess>();
    open.set(number, answers);
    bus.send(JSON.stringify({ ask: number }));
    await sleep(ANSWERS_MS);
    open.delete(number);
    answers.delete(id);
    const others = [...answers.values()].sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
    return [await self(), ...others];
  }

  return {
    connect(given) {
      bus = given;
      return given;
    },
    received(given) {
      const found = parse(given);
      if (found === undefined) return;
      if ("ask" in found) return void respond(found.ask);
      const answers = open.get(found.to);
      if (answers !== undefined && answers.size < MAX_PROCESSES) answers.set(found.process.id, found.process);
    },
    list() {
      if (areRequestsIsolated()) return ask();
      // Many people who look at the same time are one question.
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      return asking;
    },
  };
}

function parse(given: string): z.infer<typeof message> | undefined {
  try {
    return message.safeParse(JSON.parse(given)).data;
  } catch {
    return undefined;
  }
}
