/** Draws bar charts as standalone SVG: no script, no font, readable on light and dark pages. */

/** Baselines are written by hand on the bare engine. Peers are other libraries. */
export type Role = "ours" | "baseline" | "peer";

export interface Chart {
  readonly title: string;
  /** From top to bottom. Values below 0 are drawn as 0. */
  readonly bars: readonly Bar[];
}

export interface Bar {
  readonly name: string;
  readonly role: Role;
  readonly value: number;
}

const WIDTH = 720;
const PADDING = 20;
const TITLE_HEIGHT = 44;
const ROW_HEIGHT = 30;
const BAR_HEIGHT = 18;
const LEGEND_HEIGHT = 36;
const FONT_SIZE = 13;
/** Text is not measured here, so a character is assumed to have the width of a wide font. */
const CHARACTER_WIDTH = 7.7;
const VALUE_WIDTH = 90;
const GAP = 10;

const ROLES: Readonly<Record<Role, string>> = {
  ours: "Halyard",
  baseline: "by hand on the engine",
  peer: "other libraries",
};

// It has its own background, because a page's colours may differ from the colour scheme of the reader's system.
const STYLE = `
  text { font: ${FONT_SIZE}px system-ui, sans-serif; fill: #1f2328 }
  .title, .bold { font-weight: 600 }
  .card { fill: #ffffff; stroke: #d1d9e0 }
  .ours { fill: #0969da }
  .baseline { fill: #818b98 }
  .peer { fill: #c69026 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .card { fill: #0d1117; stroke: #3d444d }
    .ours { fill: #4493f8 }
    .baseline { fill: #7d8590 }
    .peer { fill: #d4a72c }
  }
`;

export function drawChart({ title, bars }: Chart): string {
  const labelWidth = Math.max(0, ...bars.map(({ name }) => name.length)) * CHARACTER_WIDTH;
  const left = PADDING + labelWidth + GAP;
  const longest = Math.max(...bars.map(({ value }) => value));
  const widthOf = (value: number): number =>
    longest > 0 ? (Math.max(0, value) / longest) * (WIDTH - left - VALUE_WIDTH - PADDING) : 0;
  const legendTop = TITLE_HEIGHT + bars.length * ROW_HEIGHT;
  const height = legendTop + LEGEND_HEIGHT;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="card" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="6"/>`,
    `<text class="title" x="${PADDING}" y="28">${escapeXml(title)}</text>`,
    ...bars.map((bar, row) => drawBar(bar, TITLE_HEIGHT + row * ROW_HEIGHT, left, widthOf(bar.value))),
    ...drawLegend(bars, legendTop),
    "</svg>",
    "",
  ].join("\n");
}

function drawBar({ name, role, value }: Bar, top: number, left: number, width: number): string {
  const weight = role === "ours" ? ' class="bold"' : "";
  const baseline = top + BAR_HEIGHT - 4;
  return [
    `<text${weight} x="${round(left - GAP)}" y="${baseline}" text-anchor="end">${escapeXml(name)}</text>`,
    `<rect class="${role}" x="${round(left)}" y="${top}" width="${round(width)}" height="${BAR_HEIGHT}" rx="2"/>`,
    `<text${weight} x="${round(left + width + GAP)}" y="${baseline}">${formatFigure(value)}</text>`,
  ].join("\n");
}

function drawLegend(bars: readonly Bar[], top: number): string[] {
  let left = PADDING;
  return Object.entries(ROLES).flatMap(([role, label]) => {
    if (!bars.some((bar) => bar.role === role)) return [];
    const x = left;
    left += 20 + label.length * CHARACTER_WIDTH + GAP;
    return [
      `<rect class="${role}" x="${round(x)}" y="${top + 8}" width="12" height="12" rx="2"/>`,
      `<text x="${round(x + 20)}" y="${top + 18}">${label}</text>`,
    ];
  });
}

/** A measurement on a shared machine justifies three digits. */
function formatFigure(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
