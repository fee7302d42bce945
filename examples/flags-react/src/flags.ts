/** Declares the flags of the shop. Server, client and components take their types from here. */
import { defineFlags } from "@halyard/flags/client";

export type Banner = { text: string; tone: "calm" | "loud" };

export const flags = defineFlags({
  banner: { type: "json", default: { text: "Ropes, blocks and lamps", tone: "calm" } as Banner },
  layout: { type: "string", values: ["grid", "list"], default: "grid" },
  "free-shipping": { type: "boolean", default: false },
  // The A/B test compares two button texts.
  "buy-button": {
    type: "string",
    variants: ["control", "nautical"],
    default: "Add to cart",
  },
});

export type FlagName = keyof typeof flags;
