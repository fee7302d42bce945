/** `handshakeTimeoutMs`, the data of connections without a login, and errors outside messages. */
import { describe, expect, test } from "vitest";
import { connect, greeted, HALYARD, handshake } from "./peer.ts";
import { POLL, readLog, type Suite } from "./suite.ts";

export function handshakeDeadlineTests(suite: Suite): void {
  const server = suite.serving("strict");
  const as = (token: string) => `${server().url}/?access_token=${token}`;

  describe("handshakeTimeoutMs", () => {
    test("ends an authenticate that never settles: 1013, or 503 for other clients, and its place is free", async () => {
      // More than `maxPendingUpgrades`, so that each needs the place of an earlier one.
      for (let round = 0; round < 2; round++) {
        const [peer, plain] = await Promise.all([
          connect(as("hang"), { protocols: [HALYARD] }),
          handshake(as("hang")),
        ]);
        expect(await peer.closed).toEqual({ code: 1013, reason: "the authentication timed out" });
        expect(plain.status).toBe(503);
        expect(plain.headers["retry-after"]).toBe("1");
      }
      expect(await (await greeted(server().url)).request("GREET", { name: "Ada" })).toBeDefined();
    });

    test("closes a connection whose onUpgrade never settles with 1013", async () => {
      const peer = await connect(as("stuck-at-onUpgrade"), { protocols: [HALYARD] });
      expect(await peer.closed).toEqual({ code: 1013, reason: "onUpgrade timed out" });
    });

    test.runIf(suite.can.patience)("closes a connection whose onAuth never settles with 1013", async () => {
      const peer = await greeted(as("stuck-at-onAuth"));
      peer.send("GREET", { name: "Ada" }, { correlationId: "1" });
      expect(await peer.closed).toEqual({ code: 1013, reason: "onAuth timed out" });
      expect(peer.frames.filter(({ type }) => type === "GREETING")).toEqual([]);
    });

    test("reports each step that took too long to onError, with its name and the limit", async () => {
      await (await connect(as("stuck-at-onUpgrade"), { protocols: [HALYARD] })).closed;
      await handshake(as("hang"));
      const late = (await readLog(server().url)).filter((entry) => entry["code"] === "DEADLINE_EXCEEDED");
      const messages = late.map((entry) => String(entry["message"]));
      for (const step of ["authenticate", "onUpgrade"])
        expect(messages.find((text) => text.includes(`${step} did not settle within 300 ms`))).toBeDefined();
    });
  });

  describe("data", () => {
    test("is that of every connection, below the fields that authenticate returns", async () => {
      const dataOf = async (url: string) =>
        ((await (await greeted(url)).request("WHO_AM_I")).payload as { data: { userId: string } }).data;
      expect(await dataOf(server().url)).toMatchObject({ userId: "guest" });
      expect(await dataOf(as("ada"))).toMatchObject({ userId: "ada" });
    });
  });

  describe("onError of the adapter", () => {
    test("receives the errors of all hooks that open and close a connection, with its id", async () => {
      const peer = await greeted(as("broken"));
      const { clientId } = peer;
      await peer.close();
      const messages = async () =>
        (await readLog(server().url, clientId)).flatMap(({ what, message }) =>
          what === "outside" ? [message] : [],
        );
      await expect
        .poll(messages, POLL)
        .toEqual(["onUpgrade", "onOpen", "router onOpen", "router onClose", "onClose"]);
    });
  });
}
