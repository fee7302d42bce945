/** Renders the metrics in the Prometheus text format 0.0.4. */
import { COUNTERS, DURATION, gaugeFamilies } from "./families.ts";
import { DURATION_BOUNDS_MS, type DurationFigures, type Figures, type Labels } from "./meter.ts";

const PREFIX = "halyard_flags_";

export function renderMetrics(figures: Figures, version: string): string {
  const lines: string[] = [];
  const begin = (name: string, type: string, help: string) =>
    lines.push(`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`);

  begin(`${PREFIX}info`, "gauge", "Always 1. The label is the version of the package.");
  lines.push(`${PREFIX}info${labelText({ version })} 1`);
  for (const { name, help, samples } of COUNTERS) {
    const full = `${PREFIX}${name}_total`;
    begin(full, "counter", help);
    for (const { labels, value } of samples(figures)) lines.push(`${full}${labelText(labels)} ${value}`);
  }
  begin(`${PREFIX}${DURATION.name}`, "histogram", DURATION.help);
  for (const durations of figures.durations) lines.push(...histogramLines(durations));
  for (const [name, gauges] of gaugeFamilies(figures.gauges)) {
    const full = `${PREFIX}${name}`;
    begin(full, "gauge", gauges[0]?.help ?? "");
    for (const { labels, read } of gauges) {
      const value = read();
      if (!Number.isNaN(value)) lines.push(`${full}${labelText(labels)} ${numberText(value)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

function histogramLines({ operation, status, count, sumMs, buckets }: DurationFigures): string[] {
  const full = `${PREFIX}${DURATION.name}`;
  const labels = { operation, status: String(status) };
  let upTo = 0;
  const lines = DURATION_BOUNDS_MS.map((boundMs, index) => {
    upTo += buckets[index] ?? 0;
    return `${full}_bucket${labelText({ ...labels, le: String(boundMs / 1000) })} ${upTo}`;
  });
  lines.push(
    `${full}_bucket${labelText({ ...labels, le: "+Inf" })} ${count}`,
    `${full}_sum${labelText(labels)} ${numberText(sumMs / 1000)}`,
    `${full}_count${labelText(labels)} ${count}`,
  );
  return lines;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
