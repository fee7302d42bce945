/** Writes the version of flags, which its server reports, into its source. Part of `npm run release:version`. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { read, readManifest, root } from "../repository.ts";

const FILE = "packages/flags/src/server/version.ts";

const { version } = readManifest("packages/flags");
writeFileSync(join(root, FILE), read(FILE).replace(/"[^"]+";$/m, `${JSON.stringify(version)};`));
