/**
 * The API report of an entry point: the signatures of its exports, and of the types that they use. A pull request that
 * changes what users can rely on changes a report, so a review sees it.
 */

import { join } from "node:path";
import { listPackages, readManifest } from "../repository.ts";
import { type Module, Modules, type Place } from "./modules.ts";
import { signatureOf, withoutImplementation } from "./signature.ts";

export interface Entry {
  /** What users import: `@halyard/wire/client`. */
  readonly name: string;
  /** The file of the report. */
  readonly report: string;
  readonly source: string;
}

/** The entry points of the published packages. */
export function listEntries(): Entry[] {
  return listPackages().flatMap(({ path, manifest }) =>
    Object.entries(readManifest(path).exports ?? {}).flatMap(([key, target]) => {
      const source = sourceOf(target);
      if (source === undefined) return [];
      const file = key === "." ? "index" : key.slice("./".length).replaceAll("/", "-");
      const folder = manifest.name.replace(/^@halyard\//, "");
      return [
        {
          name: manifest.name + key.slice(1),
          report: `api/${folder}/${file}.txt`,
          source: join(path, source),
        },
      ];
    }),
  );
}

function sourceOf(target: unknown): string | undefined {
  const isConditional = typeof target === "object" && target !== null && "@halyard/source" in target;
  const source = isConditional ? target["@halyard/source"] : undefined;
  return typeof source === "string" ? source : undefined;
}

/** The reports of all entry points, by file. */
export function writeReports(entries: readonly Entry[], read: (file: string) => string): Map<string, string> {
  const modules = new Modules(read);
  return new Map(entries.map((entry) => [entry.report, writeReport(entry, modules)]));
}

/** Reports that are missing, out of date, or of an entry point that does not exist. */
export function findStaleReports(
  entries: readonly Entry[],
  tree: { readonly files: readonly string[]; read(file: string): string },
): string[] {
  const written = writeReports(entries, tree.read);
  const stale = [...written].filter(([file, text]) => !tree.files.includes(file) || tree.read(file) !== text);
  const left = tree.files.filter((file) => /^api\/.+\.txt$/.test(file) && !written.has(file));
  if (stale.length + left.length === 0) return [];
  return [
    "The public API differs from its reports. Run `npm run api`, and review and commit what changed:",
    ...[...stale.map(([file]) => file), ...left].sort(),
  ];
}

interface Item {
  readonly name: string;
  readonly text: string;
}

function writeReport({ name, source }: Entry, modules: Modules): string {
  const { names, packages } = modules.exportsOf(source);
  const visited = new Map<Module, Set<string>>();
  const visit = (module: Module, declared: string): boolean => {
    const seen = visited.get(module) ?? new Set();
    visited.set(module, seen);
    const isNew = !seen.has(declared);
    seen.add(declared);
    return isNew;
  };
  const waiting: Place[] = [];
  const print = (module: Module, declared: string, prefix: string): Item[] =>
    withoutImplementation(module.declarations.get(declared) ?? []).map((declaration) => {
      const { text, uses } = signatureOf(declaration, module.syntax);
      for (const used of uses) waiting.push(...modules.resolve(module, used));
      return { name: declared, text: prefix + text };
    });

  const exported: Item[] = packages.map((from) => ({ name: "*", text: `export * from "${from}";` }));
  for (const [publicName, place] of names) {
    const alias = place.name === publicName ? publicName : `${place.name} as ${publicName}`;
    if (place.kind === "external") {
      exported.push({ name: publicName, text: `export { ${alias} } from "${place.from}";` });
    } else if (place.name !== publicName) {
      exported.push({ name: publicName, text: `export { ${alias} };` });
      waiting.push(place);
    } else {
      visit(place.module, place.name);
      exported.push(...print(place.module, place.name, "export "));
    }
  }
  const used: Item[] = [];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    if (place.kind === "declared" && visit(place.module, place.name)) {
      used.push(...print(place.module, place.name, ""));
    }
  }
  const parts = [name, ...texts(exported)];
  if (used.length > 0) parts.push("Used by the above, without a name of their own here:", ...texts(used));
  return `${parts.join("\n\n")}\n`;
}

/** In the order of names. Overloads keep their order, in which TypeScript chooses among them. */
function texts(items: readonly Item[]): string[] {
  return [...items].sort((one, other) => compare(one.name, other.name)).map(({ text }) => text);
}

/** The order of code units, which does not depend on the language of the machine. */
function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
