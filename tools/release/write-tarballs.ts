/** `npm run release:pack -- <folder>`: builds and packs the packages into a folder, as the rehearsal does. */

import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { listPackages } from "../repository.ts";
import { Release } from "./release.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Name the folder: npm run release:pack -- <folder>");
mkdirSync(folder, { recursive: true });
const { ok, output } = await new Release(listPackages(), resolve(folder)).pack();
if (!ok) {
  console.error(output);
  process.exitCode = 1;
}
