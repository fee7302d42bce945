// The files and child processes of this process, and the watchdog that removes both when the process ends in any way,
// including SIGKILL.
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Its standard input is a pipe from this process: end of file means that this process has ended.
const SCRIPT = `
while read -r _; do :; done
for file in "$1"/pids/*; do kill -9 "\${file##*/}"; done
rm -rf "$1" || { sleep 1; rm -rf "$1"; }
`;

function makeDirectory(prefix: string): string {
  const directory = mkdtempSync(prefix);
  // A database server may run as its own user, which must be able to reach its data in here.
  chmodSync(directory, 0o711);
  return directory;
}

let root: string | undefined;

function ownedRoot(): string {
  if (root !== undefined) return root;
  const directory = makeDirectory(join(tmpdir(), "halyard-"));
  mkdirSync(join(directory, "pids"));
  // In its own process group, so that Ctrl-C ends the tests but not the watchdog.
  const watchdog = spawn("sh", ["-c", SCRIPT, "watchdog", directory], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  watchdog.unref();
  if (watchdog.stdin instanceof Socket) watchdog.stdin.unref();
  root = directory;
  return directory;
}

/** A new empty directory that is removed when this process ends. */
export function ownedDirectory(name: string): string {
  return makeDirectory(join(ownedRoot(), `${name}-`));
}

/** From now until `disown`, the process `pid` ends with this one. */
export function own(pid: number): void {
  writeFileSync(join(ownedRoot(), "pids", String(pid)), "");
}

/** The process `pid` has ended, and its id may be reused. */
export function disown(pid: number): void {
  rmSync(join(ownedRoot(), "pids", String(pid)), { force: true });
}
