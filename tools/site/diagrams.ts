/** Renders Mermaid diagrams to SVG files in Chromium, for both looks, so that pages show them without JavaScript. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launchChromium } from "@halyard/services";
import { diagramId } from "./pages.ts";

const LOOKS = ["light", "dark"] as const;

/** Colors of the site: both looks have a contrast of at least 4.5 between text and background. */
const COLORS: Readonly<Record<(typeof LOOKS)[number], Readonly<Record<string, string>>>> = {
  light: {
    background: "#ffffff",
    primaryColor: "#e8f0f9",
    primaryTextColor: "#16202c",
    primaryBorderColor: "#11508d",
    secondaryColor: "#fdf1d8",
    tertiaryColor: "#f4f6f9",
    lineColor: "#4b5b70",
    textColor: "#16202c",
    edgeLabelBackground: "#ffffff",
    clusterBkg: "#f4f6f9",
    clusterBorder: "#b8c4d4",
    noteBkgColor: "#fdf1d8",
    noteTextColor: "#16202c",
    noteBorderColor: "#c98a12",
  },
  dark: {
    darkMode: "true",
    background: "#15181d",
    primaryColor: "#1d3350",
    primaryTextColor: "#eef3fa",
    primaryBorderColor: "#7fb2ea",
    secondaryColor: "#3a3018",
    tertiaryColor: "#20252d",
    lineColor: "#a9b7c9",
    textColor: "#eef3fa",
    edgeLabelBackground: "#15181d",
    clusterBkg: "#20252d",
    clusterBorder: "#4b5b70",
    noteBkgColor: "#3a3018",
    noteTextColor: "#eef3fa",
    noteBorderColor: "#e0ac45",
  },
};

/** The part of Mermaid's global that the page below uses. */
interface Mermaid {
  initialize(options: object): void;
  render(id: string, text: string): Promise<{ readonly svg: string }>;
}

/** Renders what `folder` does not have yet. `script` is Mermaid's bundle for browsers. */
export async function renderDiagrams(
  texts: readonly string[],
  folder: string,
  script: string,
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const missing = [...new Set(texts)].filter((text) =>
    LOOKS.some((look) => !existsSync(join(folder, `${diagramId(text)}-${look}.svg`))),
  );
  if (missing.length === 0) return;
  const problems: string[] = [];
  const browser = await launchChromium();
  try {
    for (const look of LOOKS) {
      const page = await browser.newPage();
      await page.setContent('<!doctype html><meta charset="utf-8"><body></body>');
      await page.addScriptTag({ path: script });
      for (const text of missing) {
        const id = diagramId(text);
        const { svg, problem } = await page.evaluate(
          async ({ name, code, themeVariables }): Promise<{ svg?: string; problem?: string }> => {
            const { mermaid } = globalThis as unknown as { mermaid: Mermaid };
            mermaid.initialize({
              startOnLoad: false,
              theme: "base",
              themeVariables,
              fontFamily: "Inter, system-ui, sans-serif",
              flowchart: { htmlLabels: false, useMaxWidth: false, wrappingWidth: 260 },
              sequence: { useMaxWidth: false, mirrorActors: false },
              state: { useMaxWidth: false },
              htmlLabels: false,
            });
            try {
              return await mermaid.render(name, code);
            } catch (error) {
              return { problem: String(error) };
            }
          },
          { name: `d${id}`, code: text, themeVariables: COLORS[look] },
        );
        if (svg === undefined) problems.push(`${problem}\n${text}`);
        else writeFileSync(join(folder, `${id}-${look}.svg`), svg);
      }
      await page.close();
    }
  } finally {
    await browser.close();
  }
  if (problems.length > 0)
    throw new Error(`Mermaid cannot draw ${problems.length} diagrams:\n${problems.join("\n\n")}`);
}

/** The size of a rendered diagram in pixels. */
export function readDiagramSize(
  folder: string,
  id: string,
): { readonly width: number; readonly height: number } | undefined {
  const file = join(folder, `${id}-light.svg`);
  if (!existsSync(file)) return undefined;
  const box = /viewBox="[-\d.]+ [-\d.]+ (?<width>[\d.]+) (?<height>[\d.]+)"/.exec(
    readFileSync(file, "utf8"),
  )?.groups;
  return box === undefined
    ? undefined
    : { width: Math.ceil(Number(box["width"])), height: Math.ceil(Number(box["height"])) };
}
