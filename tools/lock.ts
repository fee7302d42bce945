/**
 * The lock file's optional packages: one binary per platform. npm omits those that the registry in use does not have,
 * and then `npm ci` refuses the lock file. `npm run lock` adds them; `npm run check` reports them.
 */

/** The repository's, and that of the site, which is no workspace. */
export const LOCK_FILES: readonly string[] = ["package-lock.json", "site/package-lock.json"];

export interface LockEntry {
  readonly version?: string;
  readonly link?: boolean;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export interface Lock {
  readonly packages: Readonly<Record<string, LockEntry>>;
}

export interface MissingPackage {
  readonly name: string;
  readonly version: string;
  /** The entry that depends on it, and the path at which it belongs. */
  readonly parent: string;
  readonly path: string;
}

type Platform = Pick<LockEntry, "os" | "cpu" | "libc">;

export function findMissing(lock: Lock): MissingPackage[] {
  return Object.entries(lock.packages).flatMap(([parent, entry]) => {
    const wanted = Object.entries(entry.optionalDependencies ?? {});
    const placed = wanted.map(([name]) => locate(lock, parent, name)).find((path) => path !== undefined);
    const folder = placed?.slice(0, placed.lastIndexOf("node_modules/")) ?? "";
    return wanted
      .filter(([name]) => locate(lock, parent, name) === undefined)
      .map(([name, version]) => ({ name, version, parent, path: `${folder}node_modules/${name}` }));
  });
}

/**
 * Paths of packages whose files npm cannot verify. Binaries for other platforms, which the registry in use does not have,
 * cannot have an integrity.
 */
export function findUnverified({ packages }: Lock): string[] {
  return Object.entries(packages)
    .filter(([path, { link, optional, integrity }]) => {
      const isInstalled = path.includes("node_modules/") && link !== true;
      return isInstalled && optional !== true && integrity === undefined;
    })
    .map(([path]) => path);
}

/** The lock file with the missing entries, in npm's order. They have no integrity, because there was no file to hash. */
export function complete<L extends Lock>(lock: L): L {
  const packages: Record<string, LockEntry> = { ...lock.packages };
  for (const { name, version, parent, path } of findMissing(lock)) {
    const { cpu, libc, os } = platformOf(name);
    const { dev, devOptional } = lock.packages[parent] ?? {};
    packages[path] = dropUndefined({ version, cpu, dev, devOptional, libc, optional: true, os });
  }
  const sorted = Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, "en"));
  return { ...lock, packages: Object.fromEntries(sorted) };
}

/** The platform of a binary, from its name: `@oxlint/binding-linux-arm64-musl`. */
function platformOf(name: string): Platform {
  const [, os] =
    /\b(aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)\b/.exec(name) ?? [];
  const [, cpu] = /-(arm64|arm|ia32|loong64|ppc64|riscv64|s390x|wasm32|x64)\b/.exec(name) ?? [];
  const [, libc] = /-(gnu|musl)/.exec(name) ?? [];
  if (cpu === undefined || (os === undefined && cpu !== "wasm32")) {
    throw new Error(`The name ${name} contains no platform. Add the package to package-lock.json by hand.`);
  }
  const libraries = { gnu: ["glibc"], musl: ["musl"] }[libc ?? ""];
  return dropUndefined({ cpu: [cpu], os: os === undefined ? undefined : [os], libc: libraries });
}

/** Where Node finds a package from this folder: in the nearest node_modules upwards. */
function locate(lock: Lock, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const path = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (path in lock.packages) return path;
    if (folder === "") return undefined;
  }
}

function dropUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const kept = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(kept) as { [K in keyof T]: Exclude<T[K], undefined> };
}
