/** Runs the suite in another runtime (Bun, a browser). The conductor controls the servers over a WebSocket. */
import { libraries } from "../spec/libraries.ts";
import { Kit, type Runtime } from "./kit.ts";
import type { Command } from "./script.ts";
import { suite } from "./suite/index.ts";

/** The failures by library and test. */
export type Outcome = Readonly<Record<string, string>>;

export async function runSuite(conductorUrl: string): Promise<{ ran: number; failures: Outcome }> {
  const command = await dial(conductorUrl);
  const failures: Record<string, string> = {};
  let ran = 0;
  for (const library of libraries) {
    const runtime: Runtime = { library, wsFactory: undefined, command };
    for (const { name, run } of suite) {
      const kit = new Kit(runtime);
      try {
        await run(kit);
      } catch (error) {
        failures[`${library.name}: ${name}`] =
          error instanceof Error ? (error.stack ?? error.message) : String(error);
      }
      await kit.cleanUp();
      ran++;
    }
  }
  return { ran, failures };
}

/** A connection to the conductor. */
export async function dial(url: string): Promise<(command: Command) => Promise<unknown>> {
  const socket = new WebSocket(url);
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  let last = 0;
  socket.addEventListener("message", ({ data }) => {
    const { id, result, error } = JSON.parse(String(data));
    const call = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) call?.resolve(result);
    else call?.reject(new Error(error));
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("close", () => reject(new Error("The conductor is gone.")));
  });
  return (command) =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      socket.send(JSON.stringify({ id: last, command }));
    });
}
