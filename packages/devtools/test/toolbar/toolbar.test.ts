/** Checks the developer toolbar in Chromium, on pages with a strict content security policy. */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Person } from "../../../flags/test/host.ts";
import { type Application, startApplication, type Window } from "./kit.ts";

let app: Application;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  app = await startApplication();
  const { auth } = app.host;
  ada = await app.host.person("ada", "admin");
  bob = await app.host.person("bob");
  const flag = await auth.api.createFeatureFlag({
    body: { key: "banner", name: "Banner", type: "boolean", enabled: true, offValue: false },
  });
  await auth.api.createFeatureFlagRule({
    body: {
      flagId: flag.id,
      priority: 1,
      conditions: {
        operator: "OR",
        conditions: [
          { attribute: "email", operator: "ends_with", value: "@example.org" },
          { attribute: "email", operator: "starts_with", value: "ada@" },
        ],
      },
      value: true,
    },
  });
  await auth.api.createFeatureFlag({
    body: {
      key: "layout",
      name: "Layout",
      type: "string",
      enabled: true,
      defaultValue: "list",
      offValue: "grid",
    },
  });
  await auth.api.createFeatureFlag({
    body: {
      key: "limits",
      name: "Limits",
      type: "json",
      enabled: true,
      defaultValue: { seats: 5 },
      offValue: { seats: 0 },
    },
  });
  await auth.api.createFeatureFlag({
    body: {
      key: "greeting",
      name: "G",
      type: "string",
      enabled: false,
      defaultValue: "on",
      offValue: "<b>off</b>",
    },
  });
}, 60_000);
afterAll(() => app.close());

/** The lines of the list: key, reason, value. */
const lines = ({ page }: Window) =>
  page
    .locator("halyard-flags-toolbar .row")
    .evaluateAll((rows) =>
      rows.map((row) =>
        [...row.querySelectorAll(".key, .why, .value")].map((part) => part.textContent).join(" | "),
      ),
    );
const read = ({ page }: Window, key: string) =>
  page.evaluate(`client.featureFlags.getValue(${JSON.stringify(key)})`);
const unfold = async ({ page }: Window, key: string) => {
  await page.getByRole("button", { name: key }).click();
};

describe("guide/flags-toolbar: What it shows", () => {
  test("every flag of the session with its value and reason, also declared flags that the server does not have", async () => {
    const window = await app.open(ada);
    await window.openPanel();
    await vi.waitFor(async () =>
      expect(await lines(window)).toEqual([
        "banner | rule | true",
        'greeting | off | "<b>off</b>"',
        'layout | default | "list"',
        'limits | default | {"seats":5}',
        "not-created | not on the server | 7",
      ]),
    );
    expect(await window.page.getByText(`User ${ada.id}`).count()).toBe(1);
    expect(await window.page.getByText("Not live").count()).toBe(1);
    await window.page.getByRole("searchbox", { name: "Search flags" }).fill("LIST");
    expect(await lines(window)).toEqual(['layout | default | "list"']);
    expect(window.problems).toEqual([]);
  });

  test("the toolbar makes no request before it is opened, and reports no exposure", async () => {
    const window = await app.open(ada);
    await window.page.waitForLoadState("networkidle");
    expect(window.requests).toEqual([]);
    await window.openPanel();
    await unfold(window, "banner");
    await window.page.getByText("Rule 1 matches.").waitFor();
    expect(window.requests).toEqual(["/feature-flags/bootstrap", "/feature-flags/evaluate"]);
  });

  test("names and values with markup are shown as text", async () => {
    const hostile = '<img src=x onerror="document.title=1">';
    const value = `</code><script>document.title = 1</script>${"\u202e"}`;
    const flags = {
      [hostile]: { value, reason: hostile, variant: hostile },
      ["__proto__"]: { value: { toString: hostile }, reason: "constructor" },
    };
    const window = await app.open(undefined, { flags: JSON.parse(JSON.stringify(flags)) });
    await window.openPanel();
    await unfold(window, hostile);
    await window.page.getByLabel("Local override (string)").fill(hostile);
    await window.page.getByRole("button", { name: "Override", exact: true }).click();
    await vi.waitFor(async () =>
      expect(await lines(window)).toContain(`${hostile} | local override | ${JSON.stringify(hostile)}`),
    );
    expect(await lines(window)).toContain(`__proto__ | no reason | {"toString":${JSON.stringify(hostile)}}`);
    expect(await window.page.locator("halyard-flags-toolbar :is(img, script)").count()).toBe(0);
    expect(await window.page.title()).toBe("Shop");
    // Chromium refuses to explain a flag that does not exist, so the server's answer is shown.
    expect(window.problems.filter((text) => !/Failed to load resource/.test(text))).toEqual([]);
  });

  test("of more than 200 flags the first are listed, and the search finds the others", async () => {
    const flags = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, at) => [`flag-${String(at).padStart(4, "0")}`, { value: at }]),
    );
    const window = await app.open(undefined, { flags });
    await window.openPanel();
    await window.page.getByText("1804 more. Search for a key to see them.").waitFor();
    expect((await lines(window)).length).toBe(200);
    await window.page.getByRole("searchbox").fill("flag-1999");
    expect(await lines(window)).toEqual(["flag-1999 | no reason | 1999"]);
  });
});

describe("guide/flags-toolbar: Local overrides", () => {
  test("an override changes what the page reads, survives a reload of the tab, and ends when it is removed", async () => {
    const window = await app.open(bob);
    const { page } = window;
    await window.openPanel();
    await unfold(window, "banner");
    await page.getByRole("radio", { name: "true" }).check();
    expect(await read(window, "banner")).toBe(true);
    await page.getByText("The server's value is false.").waitFor();
    await page.reload();
    expect(await read(window, "banner")).toBe(true);
    await page.getByRole("button", { name: "Flags 1 override" }).waitFor();
    // The panel was open, and is open again.
    await page.getByRole("button", { name: "Overridden 1" }).click();
    expect(await lines(window)).toEqual(["banner | local override | true"]);
    await page.getByRole("button", { name: "Remove all overrides" }).click();
    expect(await read(window, "banner")).toBe(false);
    await page.reload();
    expect(await read(window, "banner")).toBe(false);
    expect((await app.host.evaluate({ flagKey: "banner" }, bob)).json.value).toBe(false);
    expect(window.problems).toEqual([]);
  });

  test("a value that is not of the flag's type or not as declared is refused, and the form says why", async () => {
    const window = await app.open(bob);
    const { page } = window;
    await window.openPanel();
    await unfold(window, "limits");
    const field = page.getByLabel("Local override (JSON)");
    const submit = page.getByRole("button", { name: "Override", exact: true });
    const refused = async (text: string, why: string) => {
      await field.fill(text);
      await submit.click();
      expect(await page.getByRole("alert").textContent()).toBe(why);
      expect(await read(window, "limits")).toEqual({ seats: 5 });
    };
    await refused("{", "This is not valid JSON.");
    await refused("{}", "This does not fit the declaration: the value.seats is missing.");
    await field.fill('{"seats": 9}');
    await submit.click();
    expect(await read(window, "limits")).toEqual({ seats: 9 });
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    expect(await read(window, "limits")).toEqual({ seats: 5 });
    await unfold(window, "limits");
    await unfold(window, "not-created");
    await page.getByLabel("Local override (number)").fill("many");
    await submit.click();
    expect(await page.getByRole("alert").textContent()).toBe("This is not a number.");
    await unfold(window, "not-created");
    await unfold(window, "layout");
    expect(await page.getByRole("radio").count()).toBe(3);
    await page.getByRole("radio", { name: "grid" }).check();
    expect(await read(window, "layout")).toBe("grid");
  });

  test("overrides of the application's own code are listed, and the application may remove those of the toolbar", async () => {
    const window = await app.open(bob);
    await window.page.evaluate('client.featureFlags.setOverride("greeting", "from code")');
    await window.openPanel();
    await vi.waitFor(async () =>
      expect(await lines(window)).toContain('greeting | local override | "from code"'),
    );
    await unfold(window, "banner");
    await window.page.getByRole("radio", { name: "true" }).check();
    await window.page.evaluate('client.featureFlags.clearOverride("banner")');
    await window.page.getByRole("button", { name: "Flags 1 override" }).waitFor();
    expect(await window.page.getByRole("radio", { name: "None" }).isChecked()).toBe(true);
    await window.page.reload();
    expect(await read(window, "banner")).toBe(false);
  });
});

describe("guide/flags-toolbar: Why a flag has its value", () => {
  test("a user who may read flags sees each step of the evaluation with its conditions", async () => {
    const window = await app.open(ada);
    await window.openPanel();
    await unfold(window, "banner");
    const steps = window.page.locator("halyard-flags-toolbar .steps > li");
    await vi.waitFor(async () =>
      expect(await steps.locator("> p").allTextContents()).toEqual([
        "The flag is on.",
        "The user has no override.",
        "Rule 1 matches.",
      ]),
    );
    expect(await steps.locator(".conditions li").allTextContents()).toEqual([
      "trueany of these",
      'falseemail ends_with "@example.org"; it is "ada@example.com"',
      'trueemail starts_with "ada@"; it is "ada@example.com"',
    ]);
  });

  test("another user sees the reason, and that the steps need a permission", async () => {
    const window = await app.open(bob);
    await window.openPanel();
    await unfold(window, "banner");
    await window.page.getByText("No rule matches and no rollout includes the user.").waitFor();
    await window.page.getByText("sign in as a user who may read this flag").waitFor();
    expect(await window.page.locator("halyard-flags-toolbar .steps").count()).toBe(0);
    expect(window.problems).toEqual([]);
  });
});

describe("guide/flags-toolbar: Live changes", () => {
  test("a change on the server shows in the open panel with its steps, and in the list of changes", async () => {
    const window = await app.open(ada, { query: "?live" });
    const { page } = window;
    await window.openPanel();
    await page.getByText("Live", { exact: true }).waitFor();
    await unfold(window, "layout");
    await page.getByText("The default value applies.").waitFor();
    await app.host.auth.api.updateFeatureFlag({ body: { id: "key:layout", enabled: false } });
    await page.getByText("The flag is off, so its offValue applies.").waitFor();
    expect(await lines(window)).toContain('layout | off | "grid"');
    await page.getByText("1 recent change").click();
    expect(await page.locator("halyard-flags-toolbar .changes li > :not(time)").allTextContents()).toEqual([
      "layout",
      '"list" → "grid"',
    ]);
    expect(await page.getByRole("status").textContent()).toBe('layout: "list" → "grid"');
    await app.host.auth.api.updateFeatureFlag({ body: { id: "key:layout", enabled: true } });
    await page.getByText("2 recent changes").waitFor();
    await page.evaluate("client.featureFlags.setContext({ attributes: { other: true } })");
    await vi.waitFor(async () => expect(await lines(window)).toContain('layout | default | "list"'));
    // Values of another context are not changes.
    expect(await page.getByText("2 recent changes").count()).toBe(1);
    expect(window.problems).toEqual([]);
  });
});

describe("guide/flags-toolbar: Keyboard and screen readers", () => {
  test("everything works by keyboard, Escape closes the panel, and shortcuts of the page do not apply", async () => {
    const window = await app.open(bob);
    const { page } = window;
    const focused = () =>
      page.evaluate("document.querySelector('halyard-flags-toolbar').shadowRoot.activeElement?.className");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("searchbox").waitFor();
    await page.keyboard.type("banner");
    for (let presses = 0; presses < 9 && (await focused()) !== "row"; presses++)
      await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("radio", { name: "None" }).focus();
    await page.keyboard.press("ArrowRight");
    expect(await read(window, "banner")).toBe(true);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    expect(await focused()).toBe("toggle");
    // The first Tab came from the page itself.
    expect(await page.evaluate("shortcuts")).toEqual(["Tab"]);
  });

  test.each([
    ["light", 1000],
    ["dark", 390],
  ] as const)(
    "axe finds no violation in the %s theme at a width of %i pixels, and nothing scrolls sideways",
    async (theme, width) => {
      const window = await app.open(ada, { theme, width, query: "?live" });
      await window.openPanel();
      await window.page.getByText("Live", { exact: true }).waitFor();
      await unfold(window, "banner");
      await window.page.getByRole("radio", { name: "false" }).check();
      await window.page.getByText("Rule 1 matches.").waitFor();
      await unfold(window, "limits");
      await window.page.getByText("1 recent change").click();
      // The themes differ in colours, the widths in sizes.
      const rules = theme === "dark" ? ["color-contrast", "target-size"] : undefined;
      expect(await window.findViolations(rules)).toEqual([]);
      expect(await window.page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
      if (width < 500) {
        const box = await window.page.getByRole("dialog").boundingBox();
        expect(box).toMatchObject({ x: 8, width: width - 16 });
      }
    },
  );
});

describe("guide/flags-toolbar: Options", () => {
  test("position and theme are as given, and a second call replaces the toolbar", async () => {
    const window = await app.open(bob, { query: "?position=bottom-left&theme=dark" });
    const { page } = window;
    const box = await page.getByRole("button", { name: "Flags" }).boundingBox();
    expect(box?.x).toBe(16);
    const color =
      "getComputedStyle(document.querySelector('halyard-flags-toolbar').shadowRoot.querySelector('.toggle')).backgroundColor";
    expect(await page.evaluate(color)).toBe("rgb(19, 22, 27)");
    await page.evaluate("globalThis.unmount = mount()");
    expect(await page.locator("halyard-flags-toolbar").count()).toBe(1);
    await page.evaluate("mount(); unmount()");
    expect(await page.locator("halyard-flags-toolbar").count()).toBe(1);
    await page.evaluate("mount()()");
    expect(await page.locator("halyard-flags-toolbar").count()).toBe(0);
  });
});
