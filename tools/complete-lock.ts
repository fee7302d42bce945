/** `npm run lock`: writes the optional packages that npm left out into package-lock.json. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { complete, findMissing, type Lock } from "./lock.ts";
import { read, root } from "./repository.ts";

const lock: Lock = JSON.parse(read("package-lock.json"));
const missing = findMissing(lock);
if (missing.length > 0) {
  writeFileSync(join(root, "package-lock.json"), `${JSON.stringify(complete(lock), null, 2)}\n`);
}
console.log(`${missing.length} entries were missing from package-lock.json.`);
