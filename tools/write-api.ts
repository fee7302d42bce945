/** `npm run api`: writes the API report of every entry point. */

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { listEntries, writeReports } from "./api/report.ts";
import { read, root } from "./repository.ts";

rmSync(join(root, "api"), { recursive: true, force: true });
for (const [file, text] of writeReports(listEntries(), read)) {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}
