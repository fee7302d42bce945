import { expect, test } from "vitest";
import { FeatureFlagError } from "../model/errors.ts";
import { missingTable } from "./missing-table.ts";

test.each([
  ["SQLite", "no such table: featureFlag", 'table "featureFlag"'],
  ["SQLite", "no such table: main.featureFlag", 'table "featureFlag"'],
  ["SQLite", "no such column: auditHash", 'column "auditHash"'],
  ["Cloudflare D1", 'D1_ERROR: no such column: "seq" at offset 3', 'column "seq"'],
  ["PostgreSQL", 'relation "featureFlagRevision" does not exist', 'table "featureFlagRevision"'],
  ["PostgreSQL", 'column "seq" does not exist', 'column "seq"'],
  ["PostgreSQL", "column t.seq does not exist", 'column "t.seq"'],
  ["PostgreSQL", 'column "seq" of relation "featureFlagRevision" does not exist', 'column "seq"'],
  ["MySQL", "Table 'app.featureFlag' doesn't exist", 'table "featureFlag"'],
  ["MariaDB", "Unknown column 'featureFlag.seq' in 'where clause'", 'column "featureFlag.seq"'],
  ["SQL Server", "Invalid object name 'featureFlag'.", 'table "featureFlag"'],
  ["SQL Server", "Invalid column name 'seq'.", 'column "seq"'],
])(
  "a table or column that %s does not know is named, with the command to run: %s",
  (_name, message, what) => {
    const error = new Error("The query failed.", { cause: new Error(message) });
    for (const each of [new Error(message), error]) {
      const found = missingTable(each);
      expect(found).toMatchObject({ code: "STORAGE_ERROR", status: 500, cause: each });
      expect(found?.advice).toBe(
        `The database has no ${what}. Run \`npx auth migrate\`; with Drizzle or Prisma, run \`npx auth generate\` and then your own migration.`,
      );
    }
  },
);

test("other errors are left as they are", () => {
  const message = "no such table: featureFlag";
  const loop = new Error("wraps itself");
  loop.cause = loop;
  const own = new FeatureFlagError("STORAGE_ERROR", message, { cause: new Error(message) });
  for (const error of [new Error("connection refused"), own, message, undefined, { message }, loop]) {
    expect(missingTable(error)).toBeUndefined();
  }
});
