import { expect, test } from "vitest";
import { findStaleFigures, renderFigures } from "./figures.ts";
import { figure, toMarkdown } from "./scale/format.ts";
import { performance } from "./scale/measured.ts";
import { simulate } from "./scale/simulation.ts";
import { createTables } from "./scale/tables.ts";
import { planWire, processesPerRoom, readWireCosts, WIRE_LOAD } from "./scale/wire.ts";

const tables = new Map([
  [
    "one",
    () => [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
]);
const PAGE = "text\n\n<!-- figures: one -->\n<!-- /figures -->\n\nmore\n";
const WRITTEN = "text\n\n<!-- figures: one -->\n| a | b |\n|---|--:|\n| 1 | 2 |\n<!-- /figures -->\n\nmore\n";

test("a table is written between its marks, once, and a page with another one is found", () => {
  expect(renderFigures("a.md", PAGE, tables)).toBe(WRITTEN);
  expect(renderFigures("a.md", WRITTEN, tables)).toBe(WRITTEN);
  expect(findStaleFigures("a.md", WRITTEN, tables)).toEqual([]);
  expect(findStaleFigures("a.md", WRITTEN.replace("| 1 |", "| 3 |"), tables)).toHaveLength(1);
  expect(() => renderFigures("a.md", PAGE.replace("one", "two"), tables)).toThrow('"two"');
});

test("a column of figures is right-aligned, a column of text is not", () => {
  const table = [
    ["cost", "figure", "from"],
    ["a publish", "23 µs", "a command"],
    ["a delivery", "–", "a page"],
  ];
  expect(toMarkdown(table).split("\n")[1]).toBe("|---|--:|---|");
});

test("numbers have three digits", () => {
  expect([0, 0.01234, 1.234, 12.34, 123.4, 1234, 1_234_567].map(figure)).toEqual([
    "0",
    "0.0123",
    "1.23",
    "12.3",
    "123",
    "1,230",
    "1,230,000",
  ]);
});

test("a measurement that does not exist is named", () => {
  expect(() => performance("none", "Halyard", "ops/s")).toThrow("npm run bench -- none --report");
  expect(() => performance("rpc-node", "Nobody", "ops/s")).toThrow('row "Nobody"');
});

test("every table can be computed from the figures in the repository", () => {
  for (const [name, table] of createTables({ ...WIRE_LOAD, connections: 60_000 }))
    expect(toMarkdown(table()), name).not.toMatch(/NaN|undefined|Infinity/);
});

test("the simulation agrees with the arithmetic", () => {
  const costs = readWireCosts();
  const load = { ...WIRE_LOAD, connections: 100_000, connectionsPerProcess: 10_000 };
  const plan = planWire(load, costs);
  const simulated = simulate(load, costs, plan.processes, 20);
  expect(simulated.processesPerRoom).toBeCloseTo(processesPerRoom(plan.processes, load.roomSize), 1);
  expect(simulated.busy.median / plan.coresPerProcess).toBeCloseTo(1, 1);
  expect(simulated.broker.median / plan.brokerCores).toBeCloseTo(1, 1);
});

test("more processes are planned when CPU is the limit, and one process needs no broker", () => {
  const costs = readWireCosts();
  const busy = planWire({ ...WIRE_LOAD, connections: 20_000, requestsPerConnection: 10 }, costs);
  expect(busy.limit).toBe("CPU");
  expect(busy.coresPerProcess).toBeLessThanOrEqual(WIRE_LOAD.usableCore);
  expect(planWire({ ...WIRE_LOAD, connections: 1_000 }, costs)).toMatchObject({
    processes: 1,
    brokerCores: 0,
  });
});
