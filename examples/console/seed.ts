/** Example data: 5 people who sign in, 250 customers, 2 organizations, 30 flags, and 30 days of changes and evaluations. */
import { makeFeatureFlagAdmin } from "@halyard/flags";
import type { Auth } from "./auth.ts";
import { FLAGS } from "./flags.ts";
import { inThePast } from "./past.ts";

export const PASSWORD = "correct horse battery";

export interface SignIn {
  readonly name: string;
  readonly email: string;
  readonly what: string;
}

export const PEOPLE: readonly SignIn[] = [
  { name: "Ada Lovelace", email: "ada@halyard.example", what: "admin, sees everything" },
  { name: "Grace Hopper", email: "grace@halyard.example", what: "admin" },
  { name: "Linus Berg", email: "linus@halyard.example", what: "owner of Acme" },
  { name: "Maya Chen", email: "maya@halyard.example", what: "owner of Globex" },
  { name: "Noor Haddad", email: "noor@halyard.example", what: "no permission" },
];

const DAYS = 30;
const COUNTRIES = ["DE", "NO", "SE", "US", "FR"];
const FIRST = ["Ana", "Ben", "Chloe", "David", "Elif", "Finn", "Gita", "Hugo", "Ines", "Jonas"];
const LAST = ["Arden", "Brook", "Costa", "Dahl", "Evans", "Fischer", "Garcia", "Holm", "Ito", "Jansen"];

export interface SeedSize {
  readonly customers?: number;
  readonly evaluationsPerDay?: number;
}

export function seed(
  auth: Auth,
  { customers = 250, evaluationsPerDay = 60 }: SeedSize = {},
): Promise<string[]> {
  return inThePast(async (setDaysAgo) => {
    setDaysAgo(DAYS + 1);
    const [ada = {}, grace = {}] = await createPeople(auth);
    const customerIds = await createCustomers(auth, customers);
    setDaysAgo(DAYS);
    await createFlags(auth, ada);
    for (let day = DAYS - 1; day >= 0; day--) {
      setDaysAgo(day + 0.3);
      await changeSomething(auth, day, day % 3 === 0 ? ada : grace);
      for (const part of [0.25, 0.15, 0.05]) {
        setDaysAgo(day + part);
        await useFlags(auth, customerIds, day, Math.ceil(evaluationsPerDay / 3));
        // Writes the counts of this hour before the time moves on.
        await auth.api.getFeatureFlagUsage({ query: {} });
      }
    }
    return customerIds;
  });
}

type SessionHeaders = Record<string, string>;

async function createPeople(auth: Auth): Promise<SessionHeaders[]> {
  const headers: SessionHeaders[] = [];
  const ids: string[] = [];
  for (const { name, email } of PEOPLE) {
    const signedUp = await auth.api.signUpEmail({
      body: { name, email, password: PASSWORD },
      returnHeaders: true,
    });
    const cookie = signedUp.headers
      .getSetCookie()
      .map((line) => line.split(";", 1)[0])
      .join("; ");
    headers.push({ cookie });
    ids.push(signedUp.response.user.id);
  }
  for (const { email } of PEOPLE.slice(0, 2)) await makeFeatureFlagAdmin(auth, email);
  for (const [place, name] of [
    [2, "Acme"],
    [3, "Globex"],
  ] as const) {
    await auth.api.createOrganization({ body: { name, slug: name.toLowerCase(), userId: ids[place] ?? "" } });
  }
  return headers;
}

async function createCustomers(auth: Auth, count: number): Promise<string[]> {
  const { adapter } = await auth.$context;
  const ids: string[] = [];
  for (let place = 0; place < count; place++) {
    const name = `${FIRST[place % 10]} ${LAST[Math.floor(place / 10) % 10]}`;
    const { id } = await adapter.create<Record<string, unknown>, { id: string }>({
      model: "user",
      data: {
        name,
        email: `${name.toLowerCase().replace(" ", ".")}.${place}@customers.example`,
        emailVerified: true,
        plan: place % 4 === 0 ? "pro" : "free",
        country: COUNTRIES[place % COUNTRIES.length],
        createdAt: new Date(),
        updatedAt: new Date(),
      },
    });
    ids.push(id);
  }
  return ids;
}

async function createFlags(auth: Auth, headers: SessionHeaders): Promise<void> {
  await auth.api.createFeatureFlagSegment({
    headers,
    body: {
      key: "beta-testers",
      name: "Beta testers",
      organizationId: "",
      conditions: {
        operator: "OR",
        conditions: [
          { attribute: "email", operator: "ends_with", value: "@halyard.example" },
          { attribute: "user.plan", operator: "equals", value: "pro" },
        ],
      },
    },
  });
  await auth.api.createFeatureFlagSegment({
    headers,
    body: {
      key: "nordics",
      name: "Nordic countries",
      organizationId: "",
      conditions: {
        conditions: [{ attribute: "user.country", operator: "in", value: ["NO", "SE", "DK", "FI"] }],
      },
    },
  });
  for (const { rules = [], ...flag } of FLAGS) {
    const { id } = await auth.api.createFeatureFlag({ headers, body: { ...flag, organizationId: "" } });
    for (const [place, rule] of rules.entries()) {
      await auth.api.createFeatureFlagRule({ headers, body: { ...rule, flagId: id, priority: place + 1 } });
    }
  }
}

/** One change a day, of the kind that a team makes. Each differs from the last one of its flag. */
async function changeSomething(auth: Auth, day: number, headers: SessionHeaders): Promise<void> {
  const growing = FLAGS.filter(({ rolloutPercentage: share = 0 }) => share > 0 && share < 100);
  const flag = growing[day % growing.length];
  if (flag === undefined) return;
  const rolloutPercentage = (flag.rolloutPercentage ?? 0) + (day % 7) + 1;
  await auth.api.updateFeatureFlag({
    headers,
    body: { id: `key:${flag.key}`, rolloutPercentage, enabled: day % 10 !== 5 },
  });
}

const UNUSED = new Set(["old-importer", "beta-dashboard", "price-history"]);

async function useFlags(auth: Auth, ids: readonly string[], day: number, count: number): Promise<void> {
  const keys = FLAGS.map(({ key }) => key).filter((key) => !UNUSED.has(key));
  for (let turn = 0; turn < count; turn++) {
    const userId = ids[(turn * 7 + day * 13) % Math.max(1, ids.length)] ?? "visitor";
    const chosen = keys.filter((_, place) => (place + turn) % 4 === 0);
    await auth.api.evaluateFeatureFlags({
      body: { flagKeys: chosen, context: { userId }, select: "value", track: turn % 3 === 0 },
    });
    if (turn % 9 === 0) {
      await auth.api.createFeatureFlagEvent({
        body: { flagKey: "search-ranking", event: "purchase", value: 20 + (turn % 60), context: { userId } },
      });
    }
  }
}
