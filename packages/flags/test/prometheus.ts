/** A strict parser of the Prometheus text format 0.0.4. It throws for anything a scraper might refuse. */

export interface MetricFamily {
  readonly type: string;
  readonly help: string;
  readonly samples: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly value: number;
  }[];
}

const COMMENT = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;

export function parsePrometheus(text: string): Map<string, MetricFamily> {
  if (!text.endsWith("\n")) throw new Error("The text does not end with a line feed.");
  const families = new Map<string, MetricFamily>();
  const helps = new Map<string, string>();
  const seen = new Set<string>();
  let current: readonly [string, MetricFamily] | undefined;
  for (const line of text.slice(0, -1).split("\n")) {
    const [, kind, name = "", rest = ""] = COMMENT.exec(line) ?? [];
    if (kind === "HELP") {
      if (helps.has(name)) throw new Error(`Duplicate HELP: ${name}`);
      helps.set(name, rest);
    } else if (kind === "TYPE") {
      if (families.has(name)) throw new Error(`Duplicate TYPE: ${name}`);
      current = [name, { type: rest, help: helps.get(name) ?? "", samples: [] }];
      families.set(...current);
    } else {
      if (current === undefined) throw new Error(`A sample before its TYPE: ${line}`);
      addSample(line, current, seen);
    }
  }
  for (const [name, family] of families) if (family.type === "histogram") checkHistogram(name, family);
  return families;
}

function addSample(
  line: string,
  [family, { type, samples }]: readonly [string, MetricFamily],
  seen: Set<string>,
) {
  const [, name = "", labelText = "", number = ""] = SAMPLE.exec(line) ?? [];
  const suffixes = type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
  if (!suffixes.some((suffix) => name === family + suffix))
    throw new Error(`The sample does not belong to ${family}: ${line}`);
  if (type === "counter" && !name.endsWith("_total")) throw new Error(`A counter without _total: ${line}`);
  const labels = parseLabels(labelText);
  const key = JSON.stringify([name, Object.entries(labels).sort()]);
  if (seen.has(key)) throw new Error(`Duplicate sample: ${line}`);
  seen.add(key);
  const value = number === "+Inf" ? Number.POSITIVE_INFINITY : Number(number);
  if (Number.isNaN(value)) throw new Error(`Not a number: ${line}`);
  samples.push({ name, labels, value });
}

function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  let end = 0;
  while (end < text.length) {
    const [all = "", name = "", value = ""] = LABEL.exec(text) ?? [];
    if (all === "" || name in labels) throw new Error(`Invalid labels: ${text}`);
    labels[name] = value.replace(/\\(.)/g, (_, escaped) => (escaped === "n" ? "\n" : escaped));
    end += all.length;
  }
  return labels;
}

function checkHistogram(family: string, { samples }: MetricFamily): void {
  const series = new Map<string, { buckets: [number, number][]; count?: number; hasSum?: boolean }>();
  for (const {
    name,
    labels: { le, ...labels },
    value,
  } of samples) {
    const key = JSON.stringify(labels);
    const one = series.get(key) ?? { buckets: [] };
    series.set(key, one);
    if (name.endsWith("_bucket"))
      one.buckets.push([le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le), value]);
    else if (name.endsWith("_count")) one.count = value;
    else one.hasSum = true;
  }
  for (const [key, { buckets, count, hasSum }] of series) {
    const grows = buckets.every(([le, value], index) => {
      const [lastLe, lastValue] = buckets[index - 1] ?? [Number.NEGATIVE_INFINITY, 0];
      return le > lastLe && value >= lastValue;
    });
    const [lastLe, lastValue] = buckets.at(-1) ?? [];
    if (!grows || lastLe !== Number.POSITIVE_INFINITY || lastValue !== count || hasSum !== true) {
      throw new Error(`Invalid histogram: ${family} ${key}`);
    }
  }
}
