import { describe, expect, test } from "vitest";
import { message, z } from "../zod.ts";
import { withIssue } from "./issues.ts";
import { readPayload, standardValidator } from "./validate.ts";

const News = message("NEWS", { title: z.string() });
const payload = { title: "t", extra: 1 };
const envelope = { problem: undefined, type: "NEWS", meta: {}, payload, hasCustom: false } as const;

describe("a payload that does not match its schema", () => {
  test("names no field in the message, because a peer may read it, but in the details", () => {
    expect(() => readPayload(standardValidator, News, envelope, "INTERNAL")).toThrow(
      expect.objectContaining({
        message: "The payload of NEWS does not match its schema.",
        details: { issues: [{ path: "", message: 'Unrecognized key: "extra"' }] },
      }),
    );
  });

  test("names the field when the peer itself sent it", () => {
    const read = (): void => {
      try {
        readPayload(standardValidator, News, envelope, "INVALID_ARGUMENT");
      } catch (error) {
        throw withIssue(error);
      }
    };
    expect(read).toThrow(/^The payload of NEWS does not match its schema: Unrecognized key: "extra"\.$/);
  });
});
