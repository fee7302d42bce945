/** `npm run docs:troubleshooting`: writes the troubleshooting pages again. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { listFiles, read, root } from "./repository.ts";
import { catalogues } from "./troubleshooting/catalogues.ts";
import { writePage } from "./troubleshooting/page.ts";

const tree = { files: listFiles(), read };
for (const catalogue of catalogues) writeFileSync(join(root, catalogue.page), writePage(tree, catalogue));
