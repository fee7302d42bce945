/** The flags of the example shop. */
import type { CreateFeatureFlagInput, RuleConditions } from "@halyard/flags";

export interface ExampleRule {
  readonly name: string;
  readonly conditions: RuleConditions;
  readonly value?: boolean | string | number;
  readonly percentage?: number;
}

export type ExampleFlag = CreateFeatureFlagInput & { readonly rules?: readonly ExampleRule[] };

const pro = { attribute: "user.plan", operator: "equals", value: "pro" } as const;
const staff = { attribute: "email", operator: "ends_with", value: "@halyard.example" } as const;
const nordic = { attribute: "user.country", operator: "in", value: ["NO", "SE", "DK", "FI"] } as const;

/** A flag that is true for a share of users while it is on. */
const release = (key: string, name: string, rolloutPercentage: number, description: string): ExampleFlag => ({
  key,
  name,
  description,
  type: "boolean",
  enabled: rolloutPercentage > 0,
  offValue: false,
  rolloutPercentage,
});

export const FLAGS: readonly ExampleFlag[] = [
  {
    ...release("new-checkout", "New checkout", 25, "One page instead of four. Owner: payments."),
    environments: {
      production: { rolloutPercentage: 25 },
      staging: { rolloutPercentage: 100 },
      development: { enabled: false },
    },
    rules: [
      { name: "Our own staff", conditions: { conditions: [staff] }, value: true },
      {
        name: "Paying customers in the Nordics",
        conditions: { conditions: [pro, nordic] },
        value: true,
        percentage: 50,
      },
    ],
  },
  {
    key: "search-ranking",
    name: "Search ranking",
    description: "Which ranking the search uses. An A/B test since last week.",
    type: "string",
    enabled: true,
    defaultValue: "keyword",
    offValue: "keyword",
    variants: [
      { key: "control", weight: 50, value: "keyword" },
      { key: "semantic", weight: 50, value: "semantic" },
    ],
  },
  {
    ...release("one-click-buy", "One-click buy", 100, "Buy again without the cart."),
    rules: [{ name: "Segment", conditions: { conditions: [{ segment: "beta-testers" }] }, value: true }],
  },
  release("dark-mode", "Dark mode", 100, "Offers the dark theme in the account menu."),
  release("gift-cards", "Gift cards", 50, "Sell and redeem gift cards."),
  release(
    "express-shipping",
    "Express shipping",
    10,
    "Shows the express option where the carrier offers it.",
  ),
  {
    ...release("apple-pay", "Apple Pay", 100, "Payment with Apple Pay."),
    environments: { production: { enabled: true }, staging: { enabled: false } },
  },
  release("wishlists", "Wishlists", 5, "Lists that customers can share."),
  release("product-videos", "Product videos", 0, "Videos on the product page."),
  release("loyalty-points", "Loyalty points", 0, "Collect points with each order."),
  release("returns-portal", "Returns portal", 75, "Customers print their own return label."),
  release("live-chat", "Live chat", 20, "Chat with support on weekdays."),
  release(
    "cookie-banner-v2",
    "Cookie banner, second version",
    100,
    "The text that legal approved in October.",
  ),
  release("inventory-alerts", "Inventory alerts", 30, "Tells customers when an article is back."),
  release("address-autocomplete", "Address autocomplete", 60, "Suggests addresses while typing."),
  release("review-photos", "Review photos", 15, "Photos in customer reviews."),
  release("price-history", "Price history", 0, "Shows the lowest price of the last 30 days."),
  {
    ...release(
      "fraud-check-strict",
      "Strict fraud check",
      100,
      "Kill switch: turn off if the provider is down.",
    ),
    visibility: "server",
  },
  {
    ...release("warehouse-routing", "Warehouse routing", 40, "Ships from the nearest warehouse."),
    visibility: "server",
  },
  {
    key: "free-shipping-from",
    name: "Free shipping from",
    description: "Order value in euros.",
    type: "number",
    enabled: true,
    defaultValue: 50,
    offValue: 0,
    rules: [{ name: "Nordics", conditions: { conditions: [nordic] }, value: 80 }],
  },
  {
    key: "max-cart-items",
    name: "Largest cart",
    description: "Articles in one cart.",
    type: "number",
    enabled: true,
    defaultValue: 100,
    offValue: 100,
  },
  {
    key: "support-hours",
    name: "Support hours",
    type: "json",
    enabled: true,
    defaultValue: { from: "08:00", to: "18:00", days: [1, 2, 3, 4, 5] },
    offValue: { from: "09:00", to: "17:00", days: [1, 2, 3, 4, 5] },
  },
  {
    key: "home-layout",
    name: "Home page layout",
    type: "json",
    enabled: true,
    defaultValue: { hero: "season", rows: ["new", "sale", "for-you"] },
  },
  {
    key: "banner-text",
    name: "Banner text",
    type: "string",
    enabled: true,
    defaultValue: "Autumn sale: 20 % on coats",
    offValue: "",
  },
  {
    key: "recommendations",
    name: "Recommendations",
    description: "Model of the recommendations.",
    type: "string",
    enabled: true,
    defaultValue: "popular",
    offValue: "popular",
    variants: [
      { key: "popular", weight: 60, value: "popular" },
      { key: "similar", weight: 20, value: "similar" },
      { key: "model-b", weight: 20, value: "model-b" },
    ],
  },
  release("old-importer", "Old importer", 0, "Left from the migration in spring."),
  release("beta-dashboard", "Beta dashboard", 0, "The dashboard of last year."),
  release("invoice-pdf", "Invoices as PDF", 100, "PDF instead of HTML."),
  release("two-factor-nudge", "Two-factor nudge", 35, "Asks customers to add a second factor."),
  release("compressed-images", "Compressed images", 90, "AVIF where the browser supports it."),
];
