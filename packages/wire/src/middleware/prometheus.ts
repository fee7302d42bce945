/** The Prometheus text format (exposition format 0.0.4). */
import type { Sample } from "./figure.ts";

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "gauge" | "counter" | "histogram";
  readonly samples: readonly Sample[];
}

export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export function toText(families: Iterable<Family>): string {
  let text = "";
  for (const { name, help, type, samples } of families) {
    if (samples.length === 0) continue;
    text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    for (const { suffix = "", labels, value } of samples)
      text += `${name}${suffix}${labelText(labels)} ${value}\n`;
  }
  return text;
}

function labelText(labels: Readonly<Record<string, string>> | undefined): string {
  if (labels === undefined) return "";
  const pairs = Object.entries(labels).map(([key, value]) => `${key}="${escapeValue(value)}"`);
  return `{${pairs.join(",")}}`;
}

function escapeValue(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
