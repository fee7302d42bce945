/** Creates two organizations, three users, and the flags of the shop. */
import type { Auth } from "./auth.ts";
import { PASSWORD } from "./src/password.ts";

const calmBanner = { text: "Ropes, blocks and lamps for every deck", tone: "calm" };

/** Fills an empty database. Does nothing if there are organizations. */
export async function seed(auth: Auth): Promise<void> {
  const { adapter } = await auth.$context;
  if ((await adapter.count({ model: "organization" })) > 0) return;
  const [ada, bob, gil] = [
    await createPerson(auth, "ada@acme.example"),
    await createPerson(auth, "bob@example.com"),
    await createPerson(auth, "gil@globex.example"),
  ];
  const acme = await createOrganization(auth, "Acme", ada);
  const globex = await createOrganization(auth, "Globex", gil);
  for (const organizationId of [acme, globex]) {
    await auth.api.addMember({ body: { organizationId, userId: bob, role: "member" } });
  }
  await createFlags(auth, acme, globex);
}

/** Calls without headers are server calls, which need no permission. */
async function createFlags(auth: Auth, acme: string, globex: string): Promise<void> {
  const { createFeatureFlag } = auth.api;
  // Organizations may have flags of their own with the keys of these flags.
  const globalFlag = { enabled: true, organizationId: "", tenantOverridable: true };

  // `offValue` is the value while a flag is turned off. Without it, these switches would change nothing.

  await createFeatureFlag({
    body: {
      ...globalFlag,
      key: "banner",
      name: "Banner",
      type: "json",
      defaultValue: calmBanner,
      offValue: { text: "Ropes, blocks and lamps", tone: "calm" },
    },
  });
  await createFeatureFlag({
    body: {
      ...globalFlag,
      key: "layout",
      name: "Layout",
      type: "string",
      defaultValue: "grid",
      offValue: "list",
    },
  });
  await createFeatureFlag({
    body: {
      ...globalFlag,
      key: "free-shipping",
      name: "Free shipping",
      type: "boolean",
      // Turned off: turning it on gives free shipping to everyone.
      enabled: false,
      defaultValue: true,
      offValue: false,
    },
  });
  // The A/B test uses the anonymous visitor's id, so that a sign-in does not change the variant.
  await createFeatureFlag({
    body: {
      ...globalFlag,
      key: "buy-button",
      name: "Words on the button",
      type: "string",
      defaultValue: "Add to cart",
      bucketBy: "anonymousId",
      variants: [
        { key: "control", weight: 50, value: "Add to cart" },
        { key: "nautical", weight: 50, value: "Bring aboard" },
      ],
    },
  });

  // Flags of one organization with the same keys take precedence there.
  await createFeatureFlag({
    body: {
      key: "free-shipping",
      name: "Free shipping for Acme",
      type: "boolean",
      enabled: true,
      defaultValue: false,
      rolloutPercentage: 100,
      organizationId: acme,
    },
  });
  await createFeatureFlag({
    body: {
      key: "banner",
      name: "Banner of Acme",
      type: "json",
      enabled: true,
      defaultValue: { text: "Ahoy, Acme! Your fleet sails with free shipping", tone: "loud" },
      offValue: calmBanner,
      organizationId: acme,
    },
  });
  await createFeatureFlag({
    body: {
      key: "layout",
      name: "Layout of Globex",
      type: "string",
      enabled: true,
      defaultValue: "list",
      offValue: "grid",
      organizationId: globex,
    },
  });
}

async function createPerson(auth: Auth, email: string): Promise<string> {
  const name = email.split("@", 1)[0] ?? email;
  const { user } = await auth.api.createUser({ body: { email, name, password: PASSWORD } });
  return user.id;
}

async function createOrganization(auth: Auth, name: string, userId: string): Promise<string> {
  const { id } = await auth.api.createOrganization({ body: { name, slug: name.toLowerCase(), userId } });
  return id;
}
