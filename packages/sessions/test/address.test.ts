/** Checks which spellings of an address are one caller. */
import { describe, expect, test, vi } from "vitest";
import { addressOf } from "../src/identify/address.ts";

// Without a header, Better Auth behaves as in production. In tests it would treat all requests as local.
vi.mock("@better-auth/core/utils/ip", async (importOriginal) => ({
  ...(await importOriginal<typeof import("@better-auth/core/utils/ip")>()),
  getIP: () => null,
}));

const from = (value: string, ipAddress = {}) =>
  addressOf((name) => (name === "x-forwarded-for" ? value : null), { advanced: { ipAddress } });
const ids = (values: readonly string[]) => new Set(values.map((value) => JSON.stringify(from(value))));

describe("an address", () => {
  test.each([
    [
      "IPv6",
      ["2001:db8::1", "2001:DB8::1", "2001:0db8:0:0:0:0:0:1", "2001:db8:0:0::0.0.0.1", " 2001:db8::1 "],
    ],
    ["IPv6 that ends like IPv4", ["1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304", "1:2:3:4::1.2.3.4"]],
    [
      "IPv4",
      [
        "192.0.2.1",
        "::ffff:192.0.2.1",
        "::FFFF:192.0.2.1",
        "::ffff:c000:201",
        "::FFFF:C000:201",
        "0:0:0:0:0:FFFF:C000:0201",
        "0:0:0:0:0:ffff:192.0.2.1",
        "::0:ffff:192.0.2.1",
        "0::ffff:192.0.2.1",
      ],
    ],
  ])("of %s is the same in every notation", (_name, spellings) => {
    expect([...ids(spellings)]).toHaveLength(1);
  });

  test("of IPv6 counts as its /64 network, or as the network of ipv6Subnet", () => {
    expect([...ids(["2001:db8:0:1::1", "2001:db8:0:1:ffff::9"])]).toHaveLength(1);
    expect([...ids(["2001:db8:0:1::1", "2001:db8:0:2::1"])]).toHaveLength(2);
    const whole = { ipv6Subnet: 128 };
    expect(from("2001:db8:0:1::1", whole)).not.toEqual(from("2001:db8:0:1::2", whole));
  });

  test("is the first one that does not belong to a trusted proxy", () => {
    const trustedProxies = ["10.0.0.0/8"];
    expect(from("203.0.113.9, 198.51.100.7, 10.0.0.2", { trustedProxies })).toBe("198.51.100.7");
  });
});

describe("without a header", () => {
  const without = (socket?: string, ipAddress = {}) =>
    addressOf(() => null, { advanced: { ipAddress } }, socket);

  test("the socket's address counts", () => {
    expect(without("::ffff:192.0.2.1")).toBe("192.0.2.1");
    expect(without("fe80::1%eth0")).toEqual(without("fe80::2%eth1"));
  });

  test("no address is known, and none is if the host does not track addresses", () => {
    expect(without()).toBeUndefined();
    expect(without("")).toBeUndefined();
    expect(without("192.0.2.1", { disableIpTracking: true })).toBeUndefined();
  });
});
