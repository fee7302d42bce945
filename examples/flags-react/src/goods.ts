/** What the shop sells. */

export const GOODS = [
  { name: "Halyard, 30 m", price: 89, stock: 12 },
  { name: "Snatch block", price: 54, stock: 7 },
  { name: "Anchor light", price: 31, stock: 24 },
  { name: "Signal flags", price: 120, stock: 5 },
];
