/** Checks the OpenFeature provider on remote flags through OpenFeature's SDK. */
import { createRemoteProvider } from "@halyard/flags/openfeature";
import { OpenFeature, ProviderEvents, ProviderStatus } from "@openfeature/server-sdk";
import { afterAll, describe, expect, test } from "vitest";
import { flag, memoryHost } from "../memory-host.ts";
import { newAdmin, newApiKey, serveDefinitions, startRemote } from "./kit.ts";

afterAll(() => OpenFeature.close());

describe("guide/flags-remote: OpenFeature", () => {
  test("values, changes, a lost server and a revoked key reach the SDK", async () => {
    const host = await memoryHost({});
    const { id } = await host.auth.api.createFeatureFlag({
      body: flag({ type: "boolean", enabled: true, defaultValue: true, offValue: false }),
    });
    const server = await serveDefinitions(host.auth);
    const made = await newApiKey(host, { userId: (await newAdmin(host)).id });
    const { flags } = startRemote({ url: server.url, key: made.key });
    await OpenFeature.setProviderAndWait("remote", createRemoteProvider(flags));
    const client = OpenFeature.getClient("remote");
    expect(await client.getBooleanDetails("k", false, { targetingKey: "ada" })).toMatchObject({
      value: true,
      reason: "DEFAULT",
      flagMetadata: { stale: false },
    });
    expect(await client.getBooleanDetails("missing", true)).toMatchObject({
      value: true,
      errorCode: "FLAG_NOT_FOUND",
    });
    expect(await client.getStringDetails("k", "x")).toMatchObject({ value: "x", errorCode: "TYPE_MISMATCH" });

    const events: string[] = [];
    const changed = new Promise((resolve) => {
      client.addHandler(ProviderEvents.ConfigurationChanged, (details) => resolve(details?.flagsChanged));
    });
    for (const event of [ProviderEvents.Stale, ProviderEvents.Ready, ProviderEvents.Error]) {
      client.addHandler(event, () => events.push(event));
    }
    await expect.poll(() => events).toEqual([ProviderEvents.Ready]);
    await host.auth.api.updateFeatureFlag({ body: { id, enabled: false } });
    expect(await changed).toEqual(["k"]);
    expect(await client.getBooleanValue("k", true)).toBe(false);

    await server.stop();
    await expect.poll(() => events).toContain(ProviderEvents.Stale);
    expect((await client.getBooleanDetails("k", true)).flagMetadata).toEqual({ stale: true });
    await serveDefinitions(host.auth, server.port);
    await expect.poll(() => events.at(-1)).toBe(ProviderEvents.Ready);
    await host.adapter.delete({ model: "apikey", where: [{ field: "id", value: made.id }] });
    await expect.poll(() => client.providerStatus, { timeout: 5_000 }).toBe(ProviderStatus.ERROR);
    expect(await client.getBooleanValue("k", true)).toBe(false);
  });

  test("a provider whose key is refused is not ready, and says why", async () => {
    const host = await memoryHost({});
    const { url } = await serveDefinitions(host.auth);
    const { flags } = startRemote({ url, key: "no-such-key" });
    await expect(OpenFeature.setProviderAndWait("refused", createRemoteProvider(flags))).rejects.toThrow(
      "The API key is not valid.",
    );
  });
});
