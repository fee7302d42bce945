/** Runs one part with the packages of one build, in a process of its own. Its argument is an `Order` as JSON. */
import { createWriteStream, readFileSync } from "node:fs";
import type { Entry, Order, Part, PartName, Prepared } from "./part.ts";
import { adminWrites } from "./parts/admin-writes.ts";
import { evaluations } from "./parts/evaluations.ts";
import { presence } from "./parts/presence.ts";
import { sessionChanges } from "./parts/session-changes.ts";
import { openStored } from "./stored.ts";

// The facts of a part are JSON that only this part reads.
const PARTS: Readonly<Record<PartName, Part<unknown>>> = {
  evaluations: evaluations as Part<unknown>,
  "admin-writes": adminWrites as Part<unknown>,
  "session-changes": sessionChanges as Part<unknown>,
  presence: presence as Part<unknown>,
};

const order: Order = JSON.parse(process.argv[2] ?? "");
const part = PARTS[order.part];
const stored = openStored(order.database);
const output = createWriteStream(order.output);
if (order.prepared === undefined) {
  const facts = await part.prepare(stored, order.seed);
  writeLine({ facts, tables: await stored.tables() } satisfies Prepared);
} else {
  const { facts }: Prepared = JSON.parse(readFileSync(order.prepared, "utf8"));
  const record = (entry: Entry) => writeLine(entry);
  await part.run({ stored, facts, seed: order.seed, size: order.size, record });
  const tables = part.comparesRows ? await stored.tables() : [];
  for (const { name, rows } of tables) record({ about: `the table ${name}`, rows });
}
await new Promise<void>((resolve) => output.end(resolve));
await stored.close();
// Timers of a build must not keep the process.
process.exit();

function writeLine(value: object): void {
  // A reader of lines ends them at these characters too.
  const line = JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
  output.write(`${line}\n`);
}
