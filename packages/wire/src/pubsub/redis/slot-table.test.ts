import { describe, expect, test } from "vitest";
import { SlotTable } from "./slot-table.ts";

describe("the list of slots", () => {
  test("names the master of each slot, and none for a slot that is not served", () => {
    const table = new SlotTable([
      [0, 99, ["10.0.0.1", 6379, "id"], ["10.0.0.9", 6379, "replica"]],
      [200, 299, ["b.example", 7000, "id"]],
    ]);
    expect(table.find(0)?.node).toEqual({ host: "10.0.0.1", port: 6379 });
    expect(table.find(99)?.address).toBe("10.0.0.1:6379");
    expect(table.find(150)).toBeUndefined();
    expect(table.find(250)?.address).toBe("b.example:7000");
    expect([...table.addresses]).toEqual(["10.0.0.1:6379", "b.example:7000"]);
  });

  test.each([
    undefined,
    null,
    [],
    "OK",
    [[0, 1]],
    [["0", 1, ["a", 1]]],
    [[0, 1, ["a", "1"]]],
    [[0, 1, ["", 1]]],
  ])("is refused when it is malformed: %j", (reply) => {
    expect(() => new SlotTable(reply)).toThrow(Error);
  });
});
