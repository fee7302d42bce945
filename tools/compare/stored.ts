/** Opens the database of a run: a SQLite file, or a database on PostgreSQL. */
import { existingPostgres, existingSqlite } from "../../packages/flags/test/databases.ts";
import type { Stored } from "./part.ts";

export function openStored(url: string): Stored {
  return url.startsWith("postgres") ? openPostgres(url) : openSqlite(url);
}

function openSqlite(path: string): Stored {
  const connect = () => {
    const connection = existingSqlite(path).connect();
    // The copies need not survive a crash of the machine.
    connection.database.exec("pragma journal_mode = wal; pragma synchronous = off");
    return connection;
  };
  const { database, close } = connect();
  return {
    fresh: { connect, drop: async () => {} },
    sql: async (text, ...values) => void database.prepare(text).run(...values),
    async tables() {
      const tables = database.prepare(
        "select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\' order by name",
      );
      return tables.all().map(({ name }) => {
        return { name: String(name), rows: database.prepare(`select * from "${name}"`).all() };
      });
    },
    close,
  };
}

function openPostgres(url: string): Stored {
  const fresh = existingPostgres(url);
  const { database, close } = fresh.connect({ max: 1 });
  return {
    fresh,
    async sql(text, ...values) {
      let at = 0;
      await database.query(
        text.replaceAll("?", () => `$${++at}`),
        values,
      );
    },
    async tables() {
      const { rows: names } = await database.query<{ name: string }>(
        `select table_name as name from information_schema.tables
        where table_schema = current_schema() and table_type = 'BASE TABLE' order by table_name collate "C"`,
      );
      const tables = [];
      for (const { name } of names) {
        tables.push({ name, rows: (await database.query(`select * from "${name}"`)).rows });
      }
      return tables;
    },
    close,
  };
}
