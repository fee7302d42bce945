/** `npm run lock`: writes the optional packages that npm left out into the lock files. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { complete, findMissing, LOCK_FILES, type Lock } from "./lock.ts";
import { read, root } from "./repository.ts";

for (const file of LOCK_FILES) {
  const lock: Lock = JSON.parse(read(file));
  const missing = findMissing(lock);
  if (missing.length > 0) writeFileSync(join(root, file), `${JSON.stringify(complete(lock), null, 2)}\n`);
  console.log(`${missing.length} entries were missing from ${file}.`);
}
