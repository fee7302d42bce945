import { describe, expect, test } from "vitest";
import { message, z } from "../zod.ts";
import { withIssue } from "./issues.ts";
import { readPart, standardValidator } from "./validate.ts";

const News = message("NEWS", { title: z.string() });
const payload = { title: "t", extra: 1 };

describe("a payload that does not match its schema", () => {
  test("names no field in the message, because a peer may read it, but in the details", () => {
    expect(() => readPart(standardValidator, News, "payload", payload, "INTERNAL")).toThrow(
      expect.objectContaining({
        message: "The payload of NEWS does not match its schema.",
        details: { issues: [{ path: "", message: 'Unrecognized key: "extra"' }] },
      }),
    );
  });

  test("names the field when the peer itself sent it", () => {
    const read = (): void => {
      try {
        readPart(standardValidator, News, "payload", payload, "INVALID_ARGUMENT");
      } catch (error) {
        throw withIssue(error);
      }
    };
    expect(read).toThrow(/^The payload of NEWS does not match its schema: Unrecognized key: "extra"\.$/);
  });
});
