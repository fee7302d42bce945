/** One application, one browser and a few people for all suites of a file: starting them takes longer than most tests. */
import { launchChromium } from "@halyard/services";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { type Account, type Application, removeBuild, startApplication } from "./application.ts";
import { createVisits, type Visitor, type VisitorOptions } from "./visitor.ts";

export interface Stage {
  readonly app: Application;
  readonly browser: Browser;
  /** Two admins. */
  readonly ada: Account;
  readonly grace: Account;
  /** May read flags, and nothing else. */
  readonly eve: Account;
  /** May read flags and the log. */
  readonly auditor: Account;
  /** Bob and Cleo have no role. With the four others they are all the people that there are. */
  readonly people: readonly [bob: Account, cleo: Account];
  /** Opens a page, by default of Ada. It is closed after the test, which fails if the page reported an error. */
  enter(path?: string, options?: VisitorOptions): Promise<Visitor>;
  /** A visitor without a session. */
  enterAnonymously(): Promise<Visitor>;
  createFlag(fields?: object): Promise<{ id: string; key: string; name: string }>;
  valueFor(flagKey: string, userId: string): Promise<unknown>;
}

const DECLARED = {
  "declared-banner": { type: "string", default: "sale", values: ["sale", "none"] },
} as const;

/** Starts before the first test of the file. The members of the result are there from then on. */
export function openStage(): Stage {
  const visitors: Visitor[] = [];
  let visit: ReturnType<typeof createVisits>;
  let flagCount = 0;
  const keep = async (options: VisitorOptions): Promise<Visitor> => {
    const visitor = await visit(options);
    visitors.push(visitor);
    return visitor;
  };
  const stage: { -readonly [Name in keyof Stage]?: Stage[Name] } & Pick<
    Stage,
    "enter" | "enterAnonymously" | "createFlag" | "valueFor"
  > = {
    enter: (path = "/", options = {}) => keep({ account: started().ada, path, ...options }),
    enterAnonymously: () => keep({}),
    async createFlag(fields = {}) {
      flagCount += 1;
      return started().app.auth.api.createFeatureFlag({
        body: {
          key: `flag-${flagCount}`,
          name: `Feature number ${flagCount}`,
          type: "boolean",
          offValue: false,
          rolloutPercentage: 100,
          enabled: true,
          ...fields,
        } as never,
      });
    },
    async valueFor(flagKey, userId) {
      const { auth } = started().app;
      return (await auth.api.evaluateFeatureFlag({ body: { flagKey, context: { userId } } })).value;
    },
  };
  const started = (): Stage => stage as Stage;

  beforeAll(async () => {
    const [app, browser] = await Promise.all([startApplication({ flags: DECLARED }), launchChromium()]);
    Object.assign(stage, { app, browser });
    visit = createVisits(browser, app);
    stage.ada = await app.account("Ada Lovelace", { role: "admin", plan: "pro" });
    stage.grace = await app.account("Grace Hopper", { role: "admin", plan: "team" });
    stage.eve = await app.account("Eve Reader", { role: "reader" });
    stage.auditor = await app.account("Axel Auditor", { role: "auditor" });
    stage.people = [
      await app.account("Bob Stone", { plan: "free" }),
      await app.account("Cleo Park", { plan: "free" }),
    ];
  });
  afterEach(async () => {
    const left = visitors.splice(0);
    const problems = left.flatMap((visitor) => visitor.problems);
    await Promise.all(left.map((visitor) => visitor.leave()));
    expect(problems).toEqual([]);
  });
  afterAll(async () => {
    await stage.browser?.close();
    await stage.app?.close();
    await removeBuild();
  });
  return started();
}
