/**
 * `node tools/release/check-versions.ts <patch>`: fails if a patch changes more than versions. Applies it to an index of
 * its own, so that no file of the patch is used. Needs no dependency.
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type FileChange, findUnexpected } from "./version-changes.ts";

const FILE_MODES: ReadonlySet<string> = new Set(["000000", "100644"]);

const [patch = ""] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "halyard-versions-"));
const env = { ...process.env, GIT_INDEX_FILE: join(folder, "index") };
const git = (...args: string[]) => execFileSync("git", args, { env, encoding: "utf8", maxBuffer: 2 ** 28 });

try {
  git("read-tree", "HEAD");
  git("apply", "--cached", resolve(patch));
  const raw = git("diff", "--cached", "--raw", "--no-renames", "-z", "HEAD").split("\0");
  const changes: FileChange[] = [];
  const problems: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [was = "", is = ""] = raw[at]?.slice(1).split(" ") ?? [];
    const file = raw[at + 1] ?? "";
    for (const mode of [was, is]) if (!FILE_MODES.has(mode)) problems.push(`${file} has the mode ${mode}.`);
    const before = was === "000000" ? undefined : git("show", `HEAD:${file}`);
    const after = is === "000000" ? undefined : git("show", `:${file}`);
    changes.push({ file, before, after });
  }
  problems.push(...findUnexpected(changes));
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 || changes.length === 0 ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true });
}
