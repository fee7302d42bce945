import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listChangedFiles } from "./changed.ts";

let folder = "";

function git(...args: readonly string[]): void {
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
  execFileSync("git", [...identity, ...args], { cwd: folder, stdio: "ignore" });
}

function write(file: string, text: string): void {
  writeFileSync(join(folder, file), text);
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "halyard-changed-"));
  git("init");
  for (const file of ["same.ts", "edited.ts", "deleted.ts", "committed.ts"]) write(file, "1\n");
  write(".gitignore", "ignored.ts\n");
  git("add", ".");
  git("commit", "-m", "first");
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function change(): void {
  write("edited.ts", "2\n");
  rmSync(join(folder, "deleted.ts"));
  write("new.ts", "1\n");
  write("ignored.ts", "1\n");
}

test("a change is what was edited, added or deleted since the last commit", () => {
  change();
  expect(listChangedFiles(folder)).toEqual(["deleted.ts", "edited.ts", "new.ts"]);
});

test("on a branch, a change includes the commits since it left origin/main", () => {
  git("update-ref", "refs/remotes/origin/main", "HEAD");
  write("committed.ts", "2\n");
  git("commit", "-am", "second");
  change();
  expect(listChangedFiles(folder)).toEqual(["committed.ts", "deleted.ts", "edited.ts", "new.ts"]);
});

test("without a change the list is empty", () => {
  expect(listChangedFiles(folder)).toEqual([]);
});
