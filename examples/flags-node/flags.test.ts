/** What the example shows, driven as its users do: the real program, over HTTP. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { PASSWORD } from "./seed.ts";

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
  assert.deepEqual(await exit, [0, null], "the server did not stop by itself");
});

// `void`: the runner waits for its tests by itself.
void test("the page uses each organization's flags, and the global ones for who is not signed in", async () => {
  const [ada, gil] = [await signIn("ada@acme.example"), await signIn("gil@globex.example")];
  assert.match(await readPage(ada), /^Ahoy! You get the new editor /);
  assert.match(await readPage(gil), /^Hello! You get the editor you know /);
  assert.match(await readPage(undefined), /^Hello! You get the editor you know /);
});

void test("a flag answers by organization, and says why", async () => {
  const [ada, gil] = [await signIn("ada@acme.example"), await signIn("gil@globex.example")];
  const ask = async (person: Person, flagKey: string) => {
    const { body } = await evaluate(person, { flagKey, default: "unknown here" });
    return [body["value"], body["reason"]];
  };
  assert.deepEqual(await ask(ada, "new-editor"), [true, "rule_match"]);
  assert.deepEqual(await ask(gil, "new-editor"), ["unknown here", "not_found"]);
  assert.deepEqual(await ask(ada, "bulk-export"), ["unknown here", "not_found"]);
  assert.deepEqual(await ask(gil, "bulk-export"), [true, "default"]);
});

void test("a user keeps a variant", async () => {
  const bob = await signIn("bob@acme.example");
  const { body: first } = await evaluate(bob, { flagKey: "search" });
  const { body: second } = await evaluate(await signIn("bob@acme.example"), { flagKey: "search" });
  assert.equal(first["reason"], "percentage_rollout");
  assert.ok(["control", "semantic"].includes(String(first["variant"])));
  assert.deepEqual([second["variant"], second["value"]], [first["variant"], first["value"]]);
});

void test("a member asks as nobody else, and nobody in an organization they have no part in", async () => {
  const [ada, bob, gil] = [
    await signIn("ada@acme.example"),
    await signIn("bob@acme.example"),
    await signIn("gil@globex.example"),
  ];
  const ask = (person: Person, context: object) => evaluate(person, { flagKey: "greeting", context });
  const refused = [403, "PERMISSION_DENIED"];
  assert.deepEqual(await refusalOf(ask(bob, { userId: ada.id })), refused);
  assert.deepEqual(await refusalOf(ask(bob, { email: "ada@acme.example" })), refused);
  assert.deepEqual(await refusalOf(ask(bob, { attributes: { organizationRole: "owner" } })), refused);
  assert.deepEqual(await refusalOf(ask(gil, { organizationId: await activeOf(ada) })), refused);
});

void test("the admin creates a flag, and the next request has it", async () => {
  const [admin, bob] = [await signIn("admin@example.com"), await signIn("bob@acme.example")];
  const created = await call(admin, "POST", "/feature-flags/admin/flags", {
    key: "max-uploads",
    name: "Uploads at a time",
    type: "number",
    enabled: true,
    defaultValue: 3,
    organizationId: await activeOf(bob),
  });
  assert.equal(created.status, 201);
  assert.equal((await evaluate(bob, { flagKey: "max-uploads" })).body["value"], 3);

  const path = `/feature-flags/admin/flags/${created.body["id"]}`;
  assert.equal((await call(admin, "PATCH", path, { defaultValue: 5 })).status, 200);
  assert.equal((await evaluate(bob, { flagKey: "max-uploads" })).body["value"], 5);
});

void test("a member may not change flags; an owner may, in their own organization only", async () => {
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

  // To others the flag is not forbidden, it is not there.
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
    context: { userId: "somebody", attributes: { organizationRole: "owner" } },
  });
  assert.equal(status, 200);
  const { result, steps } = body as { result: { value: unknown; reason: string }; steps: unknown[] };
  assert.deepEqual([result.value, result.reason], [true, "rule_match"]);
  assert.ok(steps.length > 0);
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

/** The cookie alone is not enough to write: the request must also come from a page of this application. */
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

/** The server says where it listens once it is ready. */
function readOrigin(program: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    program.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      said += chunk;
      const found = /open on (http:\S+?)\. /.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    program.once("exit", () => reject(new Error(`The server ended before it was ready. It said: ${said}`)));
  });
}
