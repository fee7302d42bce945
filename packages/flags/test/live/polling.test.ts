/** The live client without a socket: when it polls, and when it returns to the socket. */

import { featureFlagsClient } from "@halyard/flags/client";
import { featureFlagsLiveClient } from "@halyard/flags/live-client";
import { FeatureFlagsProvider, useFeatureFlag, useFlagsStatus } from "@halyard/flags/react";
import { wsClient } from "@halyard/wire/client";
import { createAuthClient } from "better-auth/client";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { afterEach, describe, expect, test, vi } from "vitest";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A client whose socket never opens, on a server that the test plays. */
function offline() {
  vi.useFakeTimers();
  const asked: (string | null)[] = [];
  const server = { value: "one", tag: 'W/"1"', context: {}, position: "1" };
  let held: Promise<void> | undefined;
  let isHeldNext = false;
  const wire = wsClient({ url: "ws://127.0.0.1:1" });
  const client = createAuthClient({
    baseURL: "http://app.test",
    plugins: [featureFlagsClient({ exposures: false }), featureFlagsLiveClient({ client: wire })],
    fetchOptions: {
      customFetchImpl: async (input, init) => {
        const request = new Request(input, init);
        if (!request.url.includes("/feature-flags/")) return Response.json({});
        const tag = request.headers.get("if-none-match");
        asked.push(tag);
        // The server evaluates when the request arrives.
        const { value, context, tag: current, position } = server;
        const isHeld = isHeldNext || asked.length === 1;
        isHeldNext = false;
        if (isHeld) await held;
        const headers = { etag: current };
        if (tag === current) return new Response(null, { status: 304, headers });
        const flags = { a: { value, reason: "default" } };
        return Response.json(
          { flags, evaluatedAt: new Date().toISOString(), context, position },
          { headers },
        );
      },
    },
  });
  /** Holds the response to the first request, which the flags client makes, until the returned function is called. */
  function hold(): () => void {
    let release = (): void => undefined;
    held = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  }
  /** Holds the response to the next request. */
  function holdNext(): () => void {
    isHeldNext = true;
    return hold();
  }
  return { client, flags: client.featureFlags, asked, server, wire, hold, holdNext };
}

describe("without a socket", () => {
  test("the client polls about every 30 s with the tag of the last response, and takes what changed", async () => {
    const { flags, asked, server } = offline();
    const subscription = flags.subscribe();
    await vi.advanceTimersByTimeAsync(1000);
    expect([subscription.state, asked.length]).toEqual(["connecting", 1]);
    await vi.advanceTimersByTimeAsync(6000);
    expect([subscription.state, asked]).toEqual(["polling", [null, null]]);
    await vi.advanceTimersByTimeAsync(37_000);
    expect(asked).toEqual([null, null, 'W/"1"']);
    Object.assign(server, { value: "two", tag: 'W/"2"' });
    await vi.advanceTimersByTimeAsync(37_000);
    expect(await flags.getValue("a")).toBe("two");
    const count = asked.length;
    subscription.close();
    await vi.advanceTimersByTimeAsync(120_000);
    expect([subscription.state, asked.length]).toEqual(["closed", count]);
  });

  test("values that arrived while others were being loaded are requested again", async () => {
    const { flags, asked, server, hold } = offline();
    const release = hold();
    const subscription = flags.subscribe();
    await vi.advanceTimersByTimeAsync(7000);
    expect([subscription.state, asked]).toEqual(["polling", [null, null]]);
    Object.assign(server, { value: "two", tag: 'W/"2"' });
    release();
    await vi.advanceTimersByTimeAsync(37_000);
    expect(asked).toEqual([null, null, null]);
    subscription.close();
  });

  test("a response that was requested before another user signed in is not used", async () => {
    const { client, flags, server, holdNext } = offline();
    const subscription = flags.subscribe();
    await vi.advanceTimersByTimeAsync(1000);
    Object.assign(server, { value: "of ann", context: { userId: "ann" } });
    const release = holdNext();
    await vi.advanceTimersByTimeAsync(6000);
    expect(subscription.state).toBe("polling");
    Object.assign(server, { value: "of bob", context: { userId: "bob" }, tag: 'W/"2"' });
    await client.signIn.email({ email: "bob@app.test", password: "x" });
    await vi.advanceTimersByTimeAsync(0);
    expect(await flags.getValue("a")).toBe("of bob");
    release();
    await vi.advanceTimersByTimeAsync(0);
    expect(await flags.getValue("a")).toBe("of bob");
    subscription.close();
  });

  test("the values of a restored backup are taken, although they are older", async () => {
    const { flags, server } = offline();
    const subscription = flags.subscribe();
    Object.assign(server, { value: "lost", tag: 'W/"2"', position: "5" });
    await vi.advanceTimersByTimeAsync(7000);
    expect([subscription.state, await flags.getValue("a")]).toEqual(["polling", "lost"]);
    Object.assign(server, { value: "restored", tag: 'W/"3"', position: "3", context: {} });
    await vi.advanceTimersByTimeAsync(37_000);
    expect(await flags.getValue("a")).toBe("restored");
    subscription.close();
  });

  test("a hidden page does not poll, and polls as soon as it is visible", async () => {
    const page = Object.assign(new EventTarget(), { visibilityState: "hidden", cookie: "" });
    vi.stubGlobal("document", page);
    vi.stubGlobal("addEventListener", () => undefined);
    const { flags, asked } = offline();
    const subscription = flags.subscribe();
    await vi.advanceTimersByTimeAsync(120_000);
    expect([subscription.state, asked.length]).toEqual(["polling", 1]);
    page.visibilityState = "visible";
    page.dispatchEvent(new Event("visibilitychange"));
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toHaveLength(2);
    subscription.close();
  });

  test("several subscriptions share one poll, and the last close() ends it", async () => {
    const { flags, asked } = offline();
    const [one, two] = [flags.subscribe(), flags.subscribe()];
    await vi.advanceTimersByTimeAsync(7000);
    expect(asked).toHaveLength(2);
    one.close();
    expect([one.state, two.state]).toEqual(["closed", "polling"]);
    await vi.advanceTimersByTimeAsync(37_000);
    expect(asked).toHaveLength(3);
    two.close();
  });

  test("a subscription without the flags client throws an error that names it", () => {
    const wire = wsClient({ url: "ws://127.0.0.1:1" });
    const client = createAuthClient({
      baseURL: "http://app.test",
      plugins: [featureFlagsLiveClient({ client: wire })],
    });
    expect(() => client.featureFlags.subscribe()).toThrow("featureFlagsClient()");
  });
});

function Shown() {
  const { connection, status, stale } = useFlagsStatus();
  return createElement("p", null, [useFeatureFlag("a", "default"), connection, status, String(stale)].join());
}

test("on a server, the page renders with the property live, and its connection is off", () => {
  const { client } = offline();
  const page = createElement(FeatureFlagsProvider, { client, live: true }, createElement(Shown));
  expect(renderToString(page)).toBe("<p>default,off,loading,true</p>");
});
