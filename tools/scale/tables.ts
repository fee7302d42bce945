/** Every table that pages show between `<!-- figures: name -->` and `<!-- /figures -->`. */

import { tabulateFlagsComparison, tabulateWireComparison } from "./comparison.ts";
import {
  FLAGS_LOAD,
  readEventSizes,
  readFlagsCosts,
  tabulateCores,
  tabulateEvaluations,
  tabulateEventSizes,
  tabulateEvents,
  tabulateFlagsCosts,
} from "./flags.ts";
import type { Table } from "./format.ts";
import { simulate, tabulateSimulation } from "./simulation.ts";
import {
  readWireCosts,
  tabulateBroker,
  tabulateBrokerCosts,
  tabulateBusier,
  tabulateConnections,
  tabulateMemory,
  tabulateWireCosts,
  WIRE_LOAD,
  type WireLoad,
} from "./wire.ts";

const SIMULATED_PROCESSES = 60;

/** By name. They are made when they are read: the simulation takes a second. */
export function createTables(load: WireLoad = WIRE_LOAD): ReadonlyMap<string, () => Table> {
  const wire = readWireCosts();
  const flags = readFlagsCosts();
  const sizes = readEventSizes();
  return new Map<string, () => Table>([
    ["wire-costs", () => tabulateWireCosts(wire)],
    ["wire-connections", () => tabulateConnections(load, wire)],
    ["wire-busier", () => tabulateBusier(load, wire)],
    ["wire-broker", () => tabulateBroker(load, wire)],
    ["wire-simulation", () => tabulateSimulation(simulate(load, wire, SIMULATED_PROCESSES), wire)],
    ["wire-memory", tabulateMemory],
    ["wire-broker-costs", tabulateBrokerCosts],
    ["flags-costs", () => tabulateFlagsCosts(flags)],
    ["flags-evaluations", () => tabulateEvaluations(FLAGS_LOAD, flags)],
    ["flags-events", () => tabulateEvents(FLAGS_LOAD, sizes)],
    ["flags-cores", () => tabulateCores(FLAGS_LOAD, flags)],
    ["flags-event-sizes", () => tabulateEventSizes(FLAGS_LOAD, sizes)],
    ["compare-wire", tabulateWireComparison],
    ["compare-flags", tabulateFlagsComparison],
  ]);
}
