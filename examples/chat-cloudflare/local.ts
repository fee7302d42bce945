/** Runs the worker on this machine as `wrangler.jsonc` describes it, with miniflare, which includes the platform's engine. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startWorker, type Worker } from "@halyard/services/worker";

interface WranglerConfiguration {
  readonly main: string;
  readonly compatibility_date: string;
  readonly durable_objects: { readonly bindings: readonly { name: string; class_name: string }[] };
  readonly migrations: readonly { readonly new_sqlite_classes?: readonly string[] }[];
}

export async function startLocally(): Promise<Worker> {
  const text = await readFile(join(import.meta.dirname, "wrangler.jsonc"), "utf8");
  const configuration: WranglerConfiguration = JSON.parse(text.replaceAll(/^\s*\/\/.*$/gm, ""));
  const { main, compatibility_date: compatibilityDate, durable_objects, migrations } = configuration;
  const made = migrations.flatMap((migration) => migration.new_sqlite_classes ?? []);
  const bindings = durable_objects.bindings.map(({ name, class_name: className }) => {
    // `wrangler deploy` refuses it too.
    if (!made.includes(className))
      throw new Error(
        `No migration in wrangler.jsonc creates the class ${className}. Add it to "migrations".`,
      );
    return [name, className] as const;
  });
  return startWorker({
    entry: join(import.meta.dirname, main),
    durableObjects: Object.fromEntries(bindings),
    compatibilityDate,
    evictable: true,
  });
}
