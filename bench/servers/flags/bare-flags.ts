/** Our engine by hand: the same flags and bytes, without checks, counts and limits. */
import { type CompiledFlag, compileFlag, type Evaluation } from "@halyard/flags/engine";
import { openPool } from "@halyard/services/postgres-pool";
import { flags, rule } from "./flags.ts";
import { emailOf, USER_ID_LENGTH } from "./people.ts";

/** The headers of our responses. */
export const HEADERS = {
  "content-type": "application/json",
  "cache-control": "no-store",
  pragma: "no-cache",
} as const;

export interface BareAnswer {
  readonly body: string;
  readonly revision: string;
}

export type BareFlags = (path: string, cookie: string, body: string) => BareAnswer;

type Body = { readonly flagKey?: string; readonly context: { readonly attributes: Attributes } };
type Attributes = Readonly<Record<string, string | number>>;

/** The service generates the salts of rules, so they are read from its tables. */
export async function readBareFlags(databaseUrl: string): Promise<BareFlags> {
  const pool = openPool({ connectionString: databaseUrl, max: 1 });
  const salts = await pool.query<{ key: string; id: string; salt: string }>(
    `select flag.key, rule."ruleId" as id, rule.salt from "featureFlag" flag join "featureFlagRule" rule on rule."flagId" = flag."flagId"`,
  );
  const revisions = await pool.query<{ revision: string }>(
    `select max(revision) as revision from "featureFlagRevision"`,
  );
  await pool.end();
  const saltOf = new Map(salts.rows.map(({ key, id, salt }) => [key, { id, salt }]));
  const revision = String(revisions.rows[0]?.revision ?? "");
  const known = new Map<string, BareFlag>();
  for (const flag of [...flags].sort((a, b) => (a.key < b.key ? -1 : 1))) {
    const stored = saltOf.get(flag.key);
    if (stored === undefined) throw new Error(`The flag ${flag.key} has no rule.`);
    const { key, type } = flag;
    const rules = [{ ...rule, ...stored, enabled: true }];
    const compiled = compileFlag({ key, type, enabled: true, defaultValue: false, rules }, new Map());
    known.set(key, new BareFlag(key, compiled, revision));
  }
  return (path, cookie, text) => {
    const at = cookie.indexOf("=") + 1;
    const userId = cookie.slice(at, at + USER_ID_LENGTH);
    const { flagKey, context } = JSON.parse(text) as Body;
    const { attributes } = context;
    const asked = { userId, email: emailOf(userId), attributes };
    const evaluatedAt = new Date().toISOString();
    if (path.endsWith("/evaluate")) {
      const fields = known.get(flagKey ?? "")?.fields(asked);
      return { body: `{${fields},"evaluatedAt":"${evaluatedAt}"}`, revision };
    }
    let body = "";
    for (const flag of known.values())
      body = body === "" ? flag.entry(asked) : `${body},${flag.entry(asked)}`;
    const told = JSON.stringify(asked);
    return { body: `{"flags":{${body}},"evaluatedAt":"${evaluatedAt}","context":${told}}`, revision };
  };
}

interface Asked {
  readonly userId: string;
  readonly email: string;
  readonly attributes: Attributes;
}

class BareFlag {
  readonly #key: string;
  readonly #compiled: CompiledFlag;
  readonly #metadata: string;
  readonly #entries = new Map<Evaluation, string>();

  constructor(key: string, compiled: CompiledFlag, revision: string) {
    this.#key = key;
    this.#compiled = compiled;
    this.#metadata = `"metadata":{"revision":${revision}}`;
  }

  fields(asked: Asked): string {
    const { value, reason } = this.#compiled.evaluate(asked);
    return `"value":${JSON.stringify(value)},"reason":"${reason}",${this.#metadata}`;
  }

  entry(asked: Asked): string {
    const answer = this.#compiled.evaluate(asked);
    let text = this.#entries.get(answer);
    if (text === undefined) {
      text = `"${this.#key}":{"value":${JSON.stringify(answer.value)},"reason":"${answer.reason}",${this.#metadata}}`;
      this.#entries.set(answer, text);
    }
    return text;
  }
}
