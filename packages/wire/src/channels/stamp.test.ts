import fc from "fast-check";
import { expect, test } from "vitest";
import { stamp } from "./stamp.ts";

test("a stamp adds the position to the meta of any frame, and changes nothing else", () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.jsonValue(),
      (type, meta, payload) => {
        const frame = { type, meta, payload };
        const position = { epoch: 'e"1', offset: 7 };
        expect(JSON.parse(stamp(JSON.stringify(frame), position, "me"))).toEqual({
          ...JSON.parse(JSON.stringify(frame)),
          meta: { $e: 'e"1', $o: 7, $x: "me", ...JSON.parse(JSON.stringify(meta)) },
        });
      },
    ),
  );
});
