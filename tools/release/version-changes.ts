/** What turning changesets into versions may change in the repository: versions, ranges of our own packages and changelogs. */

/** A file before and after; undefined where it does not exist. */
export interface FileChange {
  readonly file: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

const OWN = "@halyard/";
const VERSION = /^\d+\.\d+\.\d+$/;
const RANGE = /^[\^~]?\d+\.\d+\.\d+$/;
const DEPENDENCIES = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];

type Json = Readonly<Record<string, unknown>>;

/** What a release must not change. The job that applies the changes may write to the repository. */
export function findUnexpected(changes: readonly FileChange[]): string[] {
  return changes
    .filter((change) => !isExpected(change))
    .map(({ file }) => `A release must not change ${file} like this.`);
}

function isExpected({ file, before, after }: FileChange): boolean {
  if (/^\.changeset\/[^/]+\.md$/.test(file)) return after === undefined;
  if (after === undefined) return false;
  if (/^packages\/[^/]+\/CHANGELOG\.md$/.test(file)) return true;
  if (before === undefined) return false;
  if (file === "packages/flags/src/server/version.ts")
    return withoutVersion(before) === withoutVersion(after);
  if (file === "package-lock.json") return isSame(before, after, strippedLock);
  return /^(?:[^/]+\/){0,2}package\.json$/.test(file) && isSame(before, after, stripped);
}

function withoutVersion(source: string): string {
  return source.replace(/"\d+\.\d+\.\d+"/, "");
}

function isSame(before: string, after: string, strip: (parsed: Json) => Json): boolean {
  try {
    return JSON.stringify(strip(JSON.parse(before))) === JSON.stringify(strip(JSON.parse(after)));
  } catch {
    return false;
  }
}

/** A manifest without what may differ. A version or range of another form, such as an address, stays. */
function stripped(manifest: Json): Json {
  return mapped(manifest, (name, value) => {
    if (name === "version" && VERSION.test(String(value))) return "";
    if (!DEPENDENCIES.includes(name)) return value;
    return mapped(value as Json, (key, range) =>
      key.startsWith(OWN) && RANGE.test(String(range)) ? "" : range,
    );
  });
}

/** Entries of our own workspaces are manifests; the others are installed packages. */
function strippedLock(lock: Json): Json {
  return mapped(lock, (name, value) =>
    name === "packages"
      ? mapped(value as Json, (path, entry) =>
          path.includes("node_modules/") ? entry : stripped(entry as Json),
        )
      : value,
  );
}

function mapped(object: Json, change: (name: string, value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(name, value)]));
}
