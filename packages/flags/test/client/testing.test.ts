/** Checks `testFlags`, the client without a server for tests of applications. */
import { defineFlags } from "@halyard/flags/client";
import {
  FeatureFlagsProvider,
  useFeatureFlag,
  useFeatureFlagDetails,
  useVariant,
} from "@halyard/flags/react";
import { testFlags } from "@halyard/flags/testing";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { describe, expect, test, vi } from "vitest";

describe("testFlags", () => {
  test("returns the values immediately, and defaults for all other flags", async () => {
    const { featureFlags } = testFlags(
      { on: true, text: "t", object: { a: 1 } },
      { variants: { text: "v" } },
    );
    expect(await featureFlags.isEnabled("on")).toBe(true);
    expect(await featureFlags.getValue("object")).toEqual({ a: 1 });
    expect(await featureFlags.getVariant("text")).toBe("v");
    expect(await featureFlags.getValue("unknown", 5)).toBe(5);
    expect(await featureFlags.bootstrap()).toEqual({ on: true, text: "t", object: { a: 1 } });
    expect(featureFlags.values().status()).toBe("ready");
    expect(await testFlags().featureFlags.bootstrap()).toEqual({});
  });

  test("changes and removes values, and notifies listeners", async () => {
    const client = testFlags({ a: 1, b: 2 });
    const told = vi.fn();
    client.featureFlags.values().subscribe(told);
    client.set("a", 3, "v");
    expect(told).toHaveBeenLastCalledWith(["a"]);
    client.remove("b");
    expect(told).toHaveBeenLastCalledWith(["b"]);
    expect(await client.featureFlags.bootstrap()).toEqual({ a: 3 });
    expect(await client.featureFlags.getVariant("a")).toBe("v");
  });

  test("records tracked events", async () => {
    const { featureFlags, tracked } = testFlags({ a: true });
    expect(await featureFlags.track("a", "clicked", 3)).toEqual({ success: true, eventId: "test-1" });
    await featureFlags.trackBatch([{ flag: "a", event: "shown" }], "batch");
    expect(tracked).toEqual([
      { flagKey: "a", event: "clicked", properties: 3 },
      { flagKey: "a", event: "shown" },
    ]);
  });

  test("uses declared flags, and ignores values that do not fit them", async () => {
    const flags = defineFlags({ limit: { type: "number", default: 7 }, beta: { type: "boolean" } });
    const { featureFlags } = testFlags({ beta: true }, { flags });
    expect(await featureFlags.getValue("limit")).toBe(7);
    expect(await featureFlags.isEnabled("beta")).toBe(true);
  });

  test("renders in React, including on a server", () => {
    const client = testFlags({ a: "given" }, { variants: { a: "v" } });
    const html = renderToString(createElement(FeatureFlagsProvider, { client }, createElement(Shown)));
    expect(html).toBe("<p>given v ready</p>");
  });
});

function Shown() {
  const { status } = useFeatureFlagDetails("a");
  return createElement("p", null, `${useFeatureFlag("a")} ${useVariant("a")?.key} ${status}`);
}
