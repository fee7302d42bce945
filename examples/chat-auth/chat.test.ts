import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openAccount } from "./account.ts";
import { startApp } from "./app.ts";
import { Join, Said, Say, TeamChanged } from "./messages.ts";

const app = await startApp(":memory:", 0);
after(() => app.stop());

async function person(name: string) {
  const account = openAccount(app.url);
  const signed = await account.call("/sign-up/email", {
    name,
    email: `${name}@example.com`,
    password: "example password",
  });
  await account.client.connect();
  after(() => account.client.close());
  const lines: string[] = [];
  account.client.on(Said, ({ from, text }) => lines.push(`${from}: ${text}`));
  account.client.onError(() => {});
  return { ...account, lines, id: (signed["user"] as { id: string }).id };
}

void test("a removed member leaves the team's room at once, and a signed-out user is disconnected", async () => {
  const [ada, bob] = [await person("ada"), await person("bob")];
  const { id: organizationId } = await ada.call("/organization/create", { name: "Crew", slug: "crew" });
  const { id: invitationId } = await ada.call("/organization/invite-member", {
    email: "bob@example.com",
    role: "member",
    organizationId,
  });
  const moved = new Promise((resolve) => bob.client.on(TeamChanged, resolve));
  await bob.call("/organization/accept-invitation", { invitationId });
  await bob.call("/organization/set-active", { organizationId });
  assert.deepEqual(await moved, { team: organizationId });
  await ada.client.request(Join);
  await bob.client.request(Join);
  await ada.client.request(Say, { text: "Ahoy" });
  await until(() => bob.lines.length === 1);

  const removed = new Promise((resolve) => bob.client.on(TeamChanged, resolve));
  await ada.call("/organization/remove-member", { memberIdOrEmail: "bob@example.com", organizationId });
  assert.deepEqual(await removed, {});
  await ada.client.request(Say, { text: "Bob is gone" });
  await until(() => ada.lines.length === 2);
  assert.deepEqual(bob.lines, ["ada: Ahoy"]);

  const lost = new Promise((resolve) => bob.client.onSessionLost(resolve));
  await bob.call("/sign-out");
  await lost;
  assert.equal(bob.client.session, "lost");
  await bob.call("/sign-in/email", { email: "bob@example.com", password: "example password" });
  await bob.client.connect();
  assert.equal(bob.client.session, "active");
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
