import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { createSigner } from "./hmac.ts";

test.each([0, 1, 31, 63, 64, 65, 200])("a key of %d bytes signs as Node's HMAC-SHA256 does", (length) => {
  const key = Uint8Array.from({ length }, (_, at) => (at * 37 + length) & 0xff);
  const sign = createSigner(key);
  for (const size of [0, 1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 128, 500]) {
    const text = "halyard~".repeat(70).slice(0, size);
    expect(Buffer.from(sign(text)).toString("hex")).toBe(
      createHmac("sha256", key).update(text).digest("hex"),
    );
  }
});
