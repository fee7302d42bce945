/** Recognizes the error of a database whose tables were not migrated, in the words of each driver. */

import { FeatureFlagError } from "../model/errors.ts";
import { causesOf } from "./causes.ts";

const MISSING: readonly RegExp[] = [
  /no such (table|column): ?"?(?:main\.)?([\w.]+)/i,
  /(relation|column) "?([\w.]+)"? (?:of relation "\w+" )?does not exist/i,
  /(Table) '(?:[^'.]*\.)?(\w+)' doesn't exist/,
  /Unknown (column) '([\w.]+)'/,
  /Invalid (object|column) name '([\w.]+)'/,
];

/** The error that names the migration, or undefined for any other failure. */
export function missingTable(error: unknown): FeatureFlagError | undefined {
  for (const cause of causesOf(error)) {
    if (cause instanceof FeatureFlagError) return undefined;
    for (const pattern of MISSING) {
      const [, kind = "", name] = pattern.exec(cause.message) ?? [];
      if (name === undefined) continue;
      const what = kind.toLowerCase() === "column" ? "column" : "table";
      const advice = `The database has no ${what} "${name}". Run \`npx auth migrate\`; with Drizzle or Prisma, run \`npx auth generate\` and then your own migration.`;
      return new FeatureFlagError("STORAGE_ERROR", undefined, { cause: error, advice });
    }
  }
  return undefined;
}
