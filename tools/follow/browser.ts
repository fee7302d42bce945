/** A newcomer's browser: opens an address and reads the log of the page or its text. */

import { launchChromium } from "@halyard/services";
import type { Outcome } from "../steps.ts";
import { findMissingLine } from "./output.ts";
import type { BrowserStep } from "./page.ts";
import { until } from "./terminal.ts";

/** Opens the address and waits until all lines are there. */
export async function showsInBrowser({ url, place, lines }: BrowserStep): Promise<Outcome> {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    const logged: string[] = [];
    page.on("console", (message) => void logged.push(message.text()));
    page.on("pageerror", ({ message }) => void logged.push(message));
    await page.goto(url);
    const readText = async (): Promise<string> =>
      // The text as a reader sees it, without what is hidden.
      // biome-ignore lint/performance/useDomNodeTextContent: see above
      place === "console" ? logged.join("\n") : page.innerText("body");
    const ok = await until(async () => findMissingLine(lines, await readText()) === undefined);
    return { ok, output: `${url} shows:\n${await readText()}\nIts log:\n${logged.join("\n")}` };
  } finally {
    await browser.close();
  }
}
