/** Checks the example over HTTP, with the program as a separate process. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { PASSWORD } from "./seed.ts";

/** The keys of the flags in `seed.ts`. There are two flags with the key `greeting`. */
const SEEDED = ["greeting", "search", "new-editor", "bulk-export"];

let server: ChildProcess;
let origin: string;

before(async () => {
  const { DATABASE_URL: _, ...env } = process.env;
  server = spawn(process.execPath, ["--conditions=@halyard/source", "server.ts"], {
    cwd: import.meta.dirname,
    env: { ...env, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  origin = await readOrigin(server);
});

after(async () => {
  if (server.exitCode !== null) return;
  const exit = once(server, "exit");
  server.kill("SIGTERM");
  assert.deepEqual(await exit, [0, null], "The server did not stop on SIGTERM.");
});

// `void`, because the test runner waits for the tests.
void test("the page uses the flags of the user's organization, and global flags for anonymous visitors", async () => {
  const [ada, gil] = [await signIn("ada@acme.example"), await signIn("gil@globex.example")];
  assert.match(await readPage(ada), /^Ahoy! You get the new editor /);
  assert.match(await readPage(gil), /^Hello! You get the current editor /);
  assert.match(await readPage(undefined), /^Hello! You get the current editor /);
});

void test("a flag has a value and a reason per organization", async () => {
  const [ada, gil] = [await signIn("ada@acme.example"), await signIn("gil@globex.example")];
  const resultOf = async (person: Person, flagKey: string) => {
    const { body } = await evaluate(person, { flagKey, default: "unknown here" });
    return [body["value"], body["reason"]];
  };
  assert.deepEqual(await resultOf(ada, "new-editor"), [true, "rule_match"]);
  assert.deepEqual(await resultOf(gil, "new-editor"), ["unknown here", "not_found"]);
  assert.deepEqual(await resultOf(ada, "bulk-export"), ["unknown here", "not_found"]);
  assert.deepEqual(await resultOf(gil, "bulk-export"), [true, "default"]);
});

void test("a user keeps the same variant", async () => {
  const bob = await signIn("bob@acme.example");
  const { body: first } = await evaluate(bob, { flagKey: "search" });
  const { body: second } = await evaluate(await signIn("bob@acme.example"), { flagKey: "search" });
  assert.equal(first["reason"], "percentage_rollout");
  assert.ok(["control", "semantic"].includes(String(first["variant"])));
  assert.deepEqual([second["variant"], second["value"]], [first["variant"], first["value"]]);
});

void test("a member cannot evaluate as another user or in another organization", async () => {
  const [ada, bob, gil] = [
    await signIn("ada@acme.example"),
    await signIn("bob@acme.example"),
    await signIn("gil@globex.example"),
  ];
  const evaluateAs = (person: Person, context: object) => evaluate(person, { flagKey: "greeting", context });
  const refused = [403, "PERMISSION_DENIED"];
  assert.deepEqual(await refusalOf(evaluateAs(bob, { userId: ada.id })), refused);
  assert.deepEqual(await refusalOf(evaluateAs(bob, { email: "ada@acme.example" })), refused);
  assert.deepEqual(await refusalOf(evaluateAs(bob, { attributes: { organizationRole: "owner" } })), refused);
  assert.deepEqual(await refusalOf(evaluateAs(gil, { organizationId: await activeOf(ada) })), refused);
});

void test("the next request evaluates a flag that the admin created", async () => {
  const [admin, bob] = [await signIn("admin@example.com"), await signIn("bob@acme.example")];
  const created = await call(admin, "POST", "/feature-flags/admin/flags", {
    key: "max-uploads",
    name: "Uploads at a time",
    type: "number",
    enabled: true,
    defaultValue: 3,
    offValue: 1,
    organizationId: await activeOf(bob),
  });
  assert.equal(created.status, 201);
  assert.equal((await evaluate(bob, { flagKey: "max-uploads" })).body["value"], 3);

  const path = `/feature-flags/admin/flags/${created.body["id"]}`;
  assert.equal((await call(admin, "PATCH", path, { defaultValue: 5 })).status, 200);
  assert.equal((await evaluate(bob, { flagKey: "max-uploads" })).body["value"], 5);
});

void test("turning a flag off turns something off, for every flag of the example and for one that the admin creates", async () => {
  const [admin, bob] = [await signIn("admin@example.com"), await signIn("bob@acme.example")];
  const sale = { key: "sale", name: "Sale", type: "boolean", enabled: true, organizationId: "" };
  const { body } = await call(admin, "POST", "/feature-flags/admin/flags", {
    ...sale,
    ...{ defaultValue: true, offValue: false },
  });
  assert.equal(body["warnings"], undefined);
  assert.equal((await evaluate(bob, { flagKey: "sale" })).body["value"], true);
  await call(admin, "PATCH", `/feature-flags/admin/flags/${body["id"]}`, { enabled: false });
  const { body: off } = await evaluate(bob, { flagKey: "sale" });
  assert.deepEqual([off["value"], off["reason"]], [false, "disabled"]);

  const { body: list } = await call(admin, "GET", "/feature-flags/admin/flags");
  const seeded = (list["flags"] as { id: string; key: string }[]).filter(({ key }) => SEEDED.includes(key));
  assert.equal(seeded.length, SEEDED.length + 1);
  for (const { id, key } of seeded) {
    // A change that changes nothing returns the flag with its warnings.
    const { status, body } = await call(admin, "PATCH", `/feature-flags/admin/flags/${id}`, {});
    assert.deepEqual([status, body["warnings"]], [200, undefined], key);
  }
});

void test("an organization cannot take the key of a global flag that is not tenantOverridable", async () => {
  const ada = await signIn("ada@acme.example");
  const create = async (key: string) =>
    call(ada, "POST", "/feature-flags/admin/flags", {
      ...{ key, name: "N", type: "string", organizationId: await activeOf(ada) },
    });
  assert.deepEqual(await refusalOf(create("search")), [409, "VALIDATION_ERROR"]);
});

void test("an owner may change flags of their organization only, and a member may not change flags", async () => {
  const [ada, bob, gil] = [
    await signIn("ada@acme.example"),
    await signIn("bob@acme.example"),
    await signIn("gil@globex.example"),
  ];
  const flag = {
    key: "dark-mode",
    name: "Dark mode",
    type: "boolean",
    organizationId: await activeOf(ada),
  };
  const create = (person: Person) => call(person, "POST", "/feature-flags/admin/flags", flag);

  assert.deepEqual(await refusalOf(create(bob)), [403, "PERMISSION_DENIED"]);
  assert.deepEqual(await refusalOf(create(gil)), [403, "PERMISSION_DENIED"]);
  const { status, body } = await create(ada);
  assert.equal(status, 201);

  // For users of other organizations the flag does not exist.
  const path = `/feature-flags/admin/flags/${body["id"]}`;
  assert.deepEqual(await refusalOf(call(gil, "GET", path)), [404, "FLAG_NOT_FOUND"]);

  const log = await call(ada, "GET", `/feature-flags/admin/audit?flagId=${body["id"]}`);
  const entries = log.body["entries"] as { action: string; actor: unknown }[];
  assert.deepEqual(
    entries.map(({ action, actor }) => ({ action, actor })),
    [{ action: "flag.created", actor: { type: "user", id: ada.id } }],
  );
});

void test("explain shows every step that led to the value", async () => {
  const ada = await signIn("ada@acme.example");
  const { body: list } = await call(ada, "GET", "/feature-flags/admin/flags?prefix=new-editor");
  const [flag] = list["flags"] as { id: string }[];
  const { status, body } = await call(ada, "POST", `/feature-flags/admin/flags/${flag?.id}/explain`, {
    context: { userId: "another-user", attributes: { organizationRole: "owner" } },
  });
  assert.equal(status, 200);
  const { result, steps } = body as { result: { value: unknown; reason: string }; steps: unknown[] };
  assert.deepEqual([result.value, result.reason], [true, "rule_match"]);
  assert.ok(steps.length > 0);
});

void test("the console is mounted for users of the application, with their permissions", async () => {
  const read = async (path: string, person?: Person, headers: Record<string, string> = {}) =>
    fetch(`${origin}/admin/flags${path}`, {
      headers: { ...headers, ...(person && { cookie: person.cookie }) },
    });
  const list = `/api/feature-flags/admin/flags?organizationId=${await activeOf(await signIn("ada@acme.example"))}`;
  const own = { "x-halyard-console": "1" };
  assert.equal((await read(list, await signIn("ada@acme.example"), own)).status, 200);
  assert.equal((await read(list, await signIn("bob@acme.example"), own)).status, 403);
  assert.equal((await read(list, undefined, own)).status, 401);
  assert.equal((await read(list, await signIn("ada@acme.example"))).status, 403);
  assert.match((await read("")).headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
  const lines = readFileSync(new URL("app.ts", import.meta.url), "utf8").split("\n");
  assert.ok(lines.filter((line) => /createConsole|flagsConsole|admin\/flags/.test(line)).length <= 5);
});

interface Person {
  readonly id: string;
  readonly cookie: string;
}

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

async function signIn(email: string): Promise<Person> {
  const response = await fetch(`${origin}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { "content-type": "application/json", origin },
    body: JSON.stringify({ email, password: PASSWORD }),
  });
  assert.equal(response.status, 200, `${email} could not sign in`);
  const cookie = response.headers.getSetCookie().map((line) => line.split(";", 1)[0]);
  const { user } = (await response.json()) as { user: { id: string } };
  return { id: user.id, cookie: cookie.join("; ") };
}

/** A write also needs the header `origin` of this application, not only the cookie. */
async function call(person: Person, method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`${origin}/api/auth${path}`, {
    method,
    headers: { cookie: person.cookie, origin, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

function evaluate(person: Person, body: object): Promise<Answer> {
  return call(person, "POST", "/feature-flags/evaluate", body);
}

async function readPage(person: Person | undefined): Promise<string> {
  const response = await fetch(`${origin}/`, { headers: person ? { cookie: person.cookie } : {} });
  return response.text();
}

async function activeOf(person: Person): Promise<string> {
  const { body } = await call(person, "GET", "/get-session");
  const { activeOrganizationId } = body["session"] as { activeOrganizationId: string };
  return activeOrganizationId;
}

async function refusalOf(answer: Promise<Answer>): Promise<[number, unknown]> {
  const { status, body } = await answer;
  return [status, body["code"]];
}

/** Reads the address that the server prints when it is ready. */
function readOrigin(program: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    program.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      const address = /listens on (http:\S+?)\. /.exec(output)?.[1];
      if (address !== undefined) resolve(address);
    });
    program.once("exit", () =>
      reject(new Error(`The server exited before it was ready. Its output: ${output}`)),
    );
  });
}
