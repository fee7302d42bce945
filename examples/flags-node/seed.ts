/** Creates an admin, two organizations with users, and a few flags. */
import type { Auth } from "./auth.ts";

/** The password of all users of this example. */
export const PASSWORD = "correct horse battery";

export interface Organizations {
  readonly acme: string;
  readonly globex: string;
}

/** Fills an empty database. Does nothing if the organizations exist. */
export async function seed(auth: Auth): Promise<Organizations> {
  const existing = await findOrganizations(auth);
  if (existing !== undefined) return existing;

  await createPerson(auth, "admin@example.com", "admin");
  const [ada, bob, gil] = [
    await createPerson(auth, "ada@acme.example"),
    await createPerson(auth, "bob@acme.example"),
    await createPerson(auth, "gil@globex.example"),
  ];
  const organizations = {
    acme: await createOrganization(auth, "Acme", ada),
    globex: await createOrganization(auth, "Globex", gil),
  };
  await auth.api.addMember({ body: { organizationId: organizations.acme, userId: bob, role: "member" } });
  await createFlags(auth, organizations);
  return organizations;
}

/** Calls without headers are server calls: they need no permission, and their actor in the audit log is `system`. */
async function createFlags(auth: Auth, { acme, globex }: Organizations): Promise<void> {
  // A global flag, and a flag with the same key for Acme, which takes precedence there: `tenantOverridable` permits it.
  // `offValue` is the value while a flag is turned off. Without it, turning these flags off would change nothing.
  await auth.api.createFeatureFlag({
    body: {
      key: "greeting",
      name: "Greeting",
      type: "string",
      enabled: true,
      defaultValue: "Hello",
      offValue: "Hi",
      tenantOverridable: true,
      organizationId: "",
    },
  });
  await auth.api.createFeatureFlag({
    body: {
      key: "greeting",
      name: "Greeting of Acme",
      type: "string",
      enabled: true,
      defaultValue: "Ahoy",
      offValue: "Hello",
      organizationId: acme,
    },
  });

  // Variants: each user gets one of the two and keeps it.
  await auth.api.createFeatureFlag({
    body: {
      key: "search",
      name: "Search engine",
      type: "string",
      enabled: true,
      defaultValue: "keyword",
      variants: [
        { key: "control", weight: 50, value: "keyword" },
        { key: "semantic", weight: 50, value: "semantic" },
      ],
      organizationId: "",
    },
  });

  // A segment and a rule: on for owners and admins of Acme, and for 25 % of the other members.
  await auth.api.createFeatureFlagSegment({
    body: {
      key: "leads",
      name: "Owners and admins of the organization",
      conditions: {
        conditions: [{ attribute: "attributes.organizationRole", operator: "in", value: ["owner", "admin"] }],
      },
      organizationId: acme,
    },
  });
  const editor = await auth.api.createFeatureFlag({
    body: {
      key: "new-editor",
      name: "New editor",
      type: "boolean",
      enabled: true,
      defaultValue: false,
      rolloutPercentage: 25,
      organizationId: acme,
    },
  });
  await auth.api.createFeatureFlagRule({
    body: {
      flagId: editor.id,
      priority: 1,
      name: "Leads first",
      conditions: { conditions: [{ segment: "leads" }] },
      value: true,
    },
  });

  // Only Globex has this flag. For Acme it does not exist.
  await auth.api.createFeatureFlag({
    body: {
      key: "bulk-export",
      name: "Bulk export",
      type: "boolean",
      enabled: true,
      defaultValue: true,
      offValue: false,
      organizationId: globex,
    },
  });
}

async function createPerson(auth: Auth, email: string, role: "admin" | "user" = "user"): Promise<string> {
  const name = email.split("@", 1)[0] ?? email;
  const { user } = await auth.api.createUser({ body: { email, name, password: PASSWORD, role } });
  return user.id;
}

async function createOrganization(auth: Auth, name: string, userId: string): Promise<string> {
  const { id } = await auth.api.createOrganization({ body: { name, slug: name.toLowerCase(), userId } });
  return id;
}

async function findOrganizations(auth: Auth): Promise<Organizations | undefined> {
  const { adapter } = await auth.$context;
  const [acme, globex] = await Promise.all(
    ["acme", "globex"].map((slug) =>
      adapter.findOne<{ id: string }>({ model: "organization", where: [{ field: "slug", value: slug }] }),
    ),
  );
  return acme && globex ? { acme: acme.id, globex: globex.id } : undefined;
}
