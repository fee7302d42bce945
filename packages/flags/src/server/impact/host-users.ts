/** The host's own users, or the members of an organization, in batches. */
import type { DBAdapter, Where } from "@better-auth/core/db/adapter";
import { NO_TENANT } from "../../model/flag.ts";
import { HostTables } from "../../store/postgres/host-tables.ts";
import { isPostgresPool } from "../../store/postgres/pool.ts";
import type { HostContext } from "../http/host-request.ts";

/** A user with the fields that were asked for. */
export interface HostUser {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly role: string | undefined;
  /** The role of a member of the organization. */
  readonly organizationRole: string | undefined;
  readonly row: Readonly<Record<string, unknown>>;
}

/** Rows per query. */
const BATCH = 2000;
/** Rows per query of a search, and queries per search: an organization may have few members among many users. */
const PAGE = 200;
const MAX_ROUNDS = 20;
/** Values in one `in` list, which every database accepts. */
const MAX_LIST = 1000;

const QUERY_TIMEOUT_MS = 2000;
/** Types whose values the adapter returns as the driver gives them. */
const PLAIN: ReadonlySet<unknown> = new Set(["string", "boolean", "date"]);

type Row = Readonly<Record<string, unknown>>;
type Reader = Pick<DBAdapter, "findMany" | "count">;

/** The host's users. With an organization as `tenant`: its members. */
export class HostUsers {
  readonly #adapter: Reader;
  readonly #tenant: string;
  readonly #select: string[];
  readonly #fields: readonly string[];
  /** For many rows, the adapter takes several times as long as the query. */
  readonly #direct: HostTables | undefined;

  /** `fields`: of the user's row, beside those of `HostUser`. */
  constructor({ adapter, tables, options }: HostContext, tenant: string, fields: readonly string[]) {
    this.#adapter = adapter;
    this.#tenant = tenant;
    this.#fields = fields;
    const hasRole = tables["user"]?.fields["role"] !== undefined;
    this.#select = [...new Set(["id", "name", "email", ...(hasRole ? ["role"] : []), ...fields])];
    const { database } = options;
    const isPlain = ([name, field]: readonly [string, { type?: unknown; transform?: unknown } | undefined]) =>
      name === "id" || (field !== undefined && PLAIN.has(field.type) && field.transform === undefined);
    const chosen = this.#select.map((name) => [name, tables["user"]?.fields[name]] as const);
    if (isPostgresPool(database) && chosen.every(isPlain)) {
      this.#direct = HostTables.of({ tables }, database);
    }
  }

  count(): Promise<number> {
    return this.#tenant === NO_TENANT
      ? this.#adapter.count({ model: "user" })
      : this.#adapter.count({ model: "member", where: this.#membership() });
  }

  /** Undefined for a user who does not exist, or is not a member of the organization. */
  async find(id: string): Promise<HostUser | undefined> {
    const [row] = await this.#usersWith([id]);
    if (row === undefined || this.#tenant === NO_TENANT) return row && userOf(row);
    const roles = await this.#rolesOf([id]);
    return roles.has(id) ? userOf(row, roles.get(id)) : undefined;
  }

  /**
   * At most `limit` users, in the order of ids after `cursor`, whose name or email contains `text`, or whose id is `text`.
   * `nextCursor` is absent at the end.
   */
  async search(
    text: string,
    limit: number,
    cursor: string | undefined,
  ): Promise<{ readonly users: readonly HostUser[]; readonly nextCursor?: string }> {
    const exact = text === "" || cursor !== undefined ? undefined : await this.find(text);
    if (exact !== undefined) return { users: [exact] };
    const users: HostUser[] = [];
    let last = cursor;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const rows = await this.#page(text, last);
      const roles = await this.#rolesOf(rows.map(({ id }) => String(id)));
      for (const row of rows) {
        last = String(row["id"]);
        if (this.#tenant !== NO_TENANT && !roles.has(last)) continue;
        users.push(userOf(row, roles.get(last)));
        if (users.length === limit) return { users, nextCursor: last };
      }
      if (rows.length < PAGE) return { users };
    }
    return { users, ...(last !== undefined && { nextCursor: last }) };
  }

  #page(text: string, after: string | undefined): Promise<Row[]> {
    const search: Where[] = ["name", "email"].map((field) => ({
      field,
      operator: "contains",
      value: text,
      mode: "insensitive",
      connector: "OR",
    }));
    const beyond: Where[] = after === undefined ? [] : [{ field: "id", operator: "gt", value: after }];
    return this.#adapter.findMany<Row>({
      model: "user",
      where: text === "" ? beyond : [...beyond, ...search],
      sortBy: { field: "id", direction: "asc" },
      limit: PAGE,
      select: [...this.#select],
    });
  }

  /** The roles in the organization, by user. Without one: none. */
  async #rolesOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (this.#tenant === NO_TENANT || ids.length === 0) return new Map();
    const where: Where[] = [...this.#membership(), { field: "userId", operator: "in", value: [...ids] }];
    const select = ["userId", "role"];
    const rows = await this.#adapter.findMany<Row>({ model: "member", where, select, limit: ids.length });
    return new Map(rows.map(({ userId, role }) => [String(userId), String(role)]));
  }

  /** In the order of ids. A member who was deleted as a user is left out. */
  async *batches(): AsyncGenerator<readonly HostUser[], void> {
    if (this.#tenant === NO_TENANT) return yield* this.#allUsers();
    const select = ["id", "userId", "role"];
    for await (const members of this.#scan("member", this.#membership(), select)) {
      const roles = new Map(members.map(({ userId, role }) => [String(userId), String(role)]));
      const rows = await this.#usersWith([...roles.keys()]);
      yield rows.map((row) => userOf(row, roles.get(String(row["id"]))));
    }
  }

  #membership(): Where[] {
    return [{ field: "organizationId", value: this.#tenant }];
  }

  async #usersWith(ids: readonly string[]): Promise<Row[]> {
    const rows: Row[] = [];
    for (let start = 0; start < ids.length; start += MAX_LIST) {
      const value = ids.slice(start, start + MAX_LIST);
      const where: Where[] = [{ field: "id", operator: "in", value }];
      const select = [...this.#select];
      rows.push(
        ...(await this.#adapter.findMany<Row>({ model: "user", where, select, limit: value.length })),
      );
    }
    return rows;
  }

  async *#allUsers(): AsyncGenerator<readonly HostUser[], void> {
    const tables = this.#direct;
    for (let last: string | undefined; ; ) {
      const ordinary = async () =>
        (await this.#after("user", [], this.#select, last)).map((row) => userOf(row));
      const asked = { select: this.#select, fields: this.#fields };
      const quick = tables && (() => readUsers(tables, asked, last));
      const users: HostUser[] = await (tables && quick ? tables.ask(quick, ordinary) : ordinary());
      if (users.length > 0) yield users;
      if (users.length < BATCH) return;
      last = users.at(-1)?.id;
    }
  }

  async *#scan(model: string, where: readonly Where[], select: readonly string[]): AsyncGenerator<Row[]> {
    for (let last: string | undefined; ; ) {
      const rows = await this.#after(model, where, select, last);
      if (rows.length > 0) yield rows;
      if (rows.length < BATCH) return;
      last = String(rows.at(-1)?.["id"]);
    }
  }

  #after(
    model: string,
    where: readonly Where[],
    select: readonly string[],
    last: string | undefined,
  ): Promise<Row[]> {
    const beyond: Where[] = last === undefined ? [] : [{ field: "id", operator: "gt", value: last }];
    return this.#adapter.findMany<Row>({
      model,
      where: [...where, ...beyond],
      sortBy: { field: "id", direction: "asc" },
      limit: BATCH,
      select: [...select],
    });
  }
}

const NO_FIELDS: Row = {};

/** `row` of each user has only `fields`. */
async function readUsers(
  tables: HostTables,
  { select, fields }: { readonly select: readonly string[]; readonly fields: readonly string[] },
  after: string | undefined,
): Promise<HostUser[]> {
  const id = tables.column("user", "id");
  const columns = select.map((field) => tables.column("user", field)).join(", ");
  const beyond = after === undefined ? "" : `where ${id} > $1`;
  const text = `select ${columns} from ${tables.table("user")} ${beyond} order by ${id} limit ${BATCH}`;
  const rows = await tables.queryArrays(QUERY_TIMEOUT_MS, text, after === undefined ? [] : [after]);
  const place = (field: string) => select.indexOf(field);
  const [atId, atName, atEmail, atRole] = [
    place("id"),
    place("name"),
    place("email"),
    place("role"),
  ] as const;
  const others = fields.map((field) => [field, place(field)] as const);
  return rows.map((values) => {
    let row = NO_FIELDS;
    if (others.length > 0) {
      const own: Record<string, unknown> = {};
      for (const [field, at] of others) own[field] = values[at];
      row = own;
    }
    return {
      id: String(values[atId]),
      name: textOf(values[atName]) ?? "",
      email: textOf(values[atEmail]) ?? "",
      role: textOf(values[atRole]),
      organizationRole: undefined,
      row,
    };
  });
}

function userOf(row: Row, organizationRole?: string): HostUser {
  const { id, name, email, role } = row;
  return {
    id: String(id),
    name: textOf(name) ?? "",
    email: textOf(email) ?? "",
    role: textOf(role),
    organizationRole,
    row,
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
