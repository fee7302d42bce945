/** Writes `site/.pages`: everything that VitePress reads, made from docs/, the sources and the flags plugin. */

import { createHash } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, posix } from "node:path";
import { findHeadings, slugify } from "../markdown.ts";
import { run } from "../process.ts";
import { listEntryPoints, listEntrySources, listFiles, listPackages, read, root } from "../repository.ts";
import { readDiagramSize, renderDiagrams } from "./diagrams.ts";
import { placeOf, type SidebarItem } from "./navigation.ts";
import { generateOpenApi } from "./openapi.ts";
import { assetAddress, isAsset, listDiagrams, makePage, type PageOptions } from "./pages.ts";

export const site: string = join(root, "site");
const pages = join(site, ".pages");
const cache = join(site, ".cache");
const diagrams = join(cache, "diagrams");
/** The front page, in place of the root's README. */
const LANDING = "site/landing.md";

/** Installs the site's own dependencies, if they are missing or older than its lock file. */
export async function installSite(): Promise<void> {
  const installed = join(site, "node_modules/.package-lock.json");
  const isCurrent =
    existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(site, "package-lock.json")).mtimeMs;
  if (isCurrent) return;
  console.log("Installing the site's dependencies (npm ci in site/).");
  await must("npm", ["ci", "--no-audit", "--no-fund"], { cwd: site, timeoutMs: 20 * 60_000 });
}

/** Pages, pictures and files of docs/. Returns the number of pages. */
export async function writePages(base: string): Promise<number> {
  const files = listFiles();
  const sources = files.filter((file) => placeOf(file) !== undefined && file !== "README.md");
  const texts = sources.map((file) => ({ file, text: read(file) }));
  const drawn = texts.flatMap(({ text }) => listDiagrams(text));
  await renderDiagrams(drawn, diagrams, join(site, "node_modules/mermaid/dist/mermaid.min.js"));
  const known = new Set(files);
  for (const { file, text } of texts) writePage(file, text, base, known);
  for (const file of files.filter(isAsset)) copyAsset(file);
  cpSync(join(site, "public"), join(pages, "public"), { recursive: true });
  cpSync(diagrams, join(pages, "public/diagrams"), { recursive: true });
  return sources.length;
}

/** Writes one page or file again after a change, for the development server. */
export function refresh(file: string, base: string): boolean {
  if (!existsSync(join(root, file))) return false;
  if (isAsset(file)) copyAsset(file);
  else if (placeOf(file) === undefined || file === "README.md") return false;
  else writePage(file, read(file), base, new Set(listFiles()));
  return true;
}

function writePage(file: string, text: string, base: string, files: ReadonlySet<string>): void {
  const options: PageOptions = { files, base, diagramSize: (id) => readDiagramSize(diagrams, id) };
  write(`${placeOf(file === LANDING ? LANDING : file)}.md`, makePage(file, text, options));
}

function copyAsset(file: string): void {
  const target = join(pages, "public", assetAddress(file));
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(root, file), target);
}

/** The API reference: one page for each entry point, and the sidebar that lists them. */
export async function writeApi(): Promise<number> {
  const packages = listPackages().map(({ path, manifest }) => {
    const names = listEntryPoints(manifest);
    const entries = listEntrySources(path).map((source, index) => ({ name: names[index] ?? source, source }));
    return { name: manifest.name, entries };
  });
  const entries = packages.flatMap((one) => one.entries);
  const out = join(cache, "api");
  // Reading the types takes longer than everything else, and most changes are in pages.
  const key = hashSources(JSON.stringify(entries));
  const keyFile = join(cache, "api.key");
  if (!existsSync(keyFile) || readFileSync(keyFile, "utf8") !== key) {
    rmSync(out, { recursive: true, force: true });
    await must("node", ["api.ts", out, JSON.stringify(entries)], { cwd: site, timeoutMs: 10 * 60_000 });
    writeFileSync(keyFile, key);
  }
  const sidebar: SidebarItem[] = packages.map((one) => ({
    text: one.name,
    collapsed: false,
    items: one.entries.map(({ name }) => ({ text: apiName(name), link: `/reference/api/${apiName(name)}` })),
  }));
  // TypeDoc adds a number to a file whose name a symbol has too.
  const fileOf = (name: string): string =>
    existsSync(join(out, `${name}.md`)) ? `${name}.md` : `${name}-1.md`;
  const addresses = new Map(entries.map(({ name }) => [fileOf(name), `/reference/api/${apiName(name)}`]));
  const texts = new Map(
    entries.map(({ name }) => [fileOf(name), readFileSync(join(out, fileOf(name)), "utf8")]),
  );
  const anchors = new Map(Array.from(texts, ([file, text]) => [file, listAnchors(text)]));
  for (const { name } of entries) {
    const page = makeApiPage(name, texts.get(fileOf(name)) ?? "", fileOf(name), addresses, anchors);
    write(`reference/api/${apiName(name)}.md`, page);
  }
  const index = packages.flatMap((one) => [
    `## \`${one.name}\``,
    "",
    ...one.entries.map(({ name }) => `- [\`${name}\`](/reference/api/${apiName(name)})`),
    "",
  ]);
  write(
    "reference/api/index.md",
    [
      "---",
      "editLink: false",
      "---",
      "",
      "# API",
      "",
      "Every name that a package exports, by entry point, from the types and comments of the source.",
      "",
      ...index,
    ].join("\n"),
  );
  write("reference/api/sidebar.json", JSON.stringify(sidebar));
  return entries.length;
}

function hashSources(entries: string): string {
  const hash = createHash("sha256").update(entries);
  const sources = listFiles().filter((file) =>
    /^packages\/[^/]+\/src\/|^site\/(?:api\.ts|package-lock\.json)$/.test(file),
  );
  for (const file of sources) hash.update(file).update("\0").update(read(file));
  return hash.digest("hex");
}

/** The anchors of the names that a page of the API reference describes. */
function listAnchors(text: string): ReadonlyMap<string, string> {
  const anchors = new Map<string, string>();
  const seen = new Map<string, number>();
  for (const { text: heading } of findHeadings(text)) {
    const slug = slugify(heading);
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    const name = heading.replace(/\(\)$/, "");
    if (!anchors.has(name)) anchors.set(name, count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}

/** `@halyard/wire/client` is at `wire/client`; `@halyard/wire` at `wire`. */
function apiName(entry: string): string {
  return entry.replace("@halyard/", "");
}

function makeApiPage(
  name: string,
  text: string,
  file: string,
  addresses: ReadonlyMap<string, string>,
  anchors: ReadonlyMap<string, ReadonlyMap<string, string>>,
): string {
  const description = `Every name that ${name} exports, with its types and defaults.`;
  const body = text
    .replace(/^# .+$/m, `# ${name}`)
    .replaceAll(
      /(\[`?)([^`\][]+)(`?\]\()([^()\s#:]*)#([^()\s]+)\)/g,
      (_, open: string, label: string, close: string, link: string, anchor: string) => {
        const target = link === "" ? file : posix.join(posix.dirname(file), link);
        // TypeDoc numbers headings that differ only in case in another order than the page does.
        const found = anchors.get(target)?.get(label) ?? anchor;
        return `${open}${label}${close}${link === "" ? "" : (addresses.get(target) ?? link)}#${found})`;
      },
    );
  return `---\neditLink: false\npageClass: api\noutline: [2, 3]\ndescription: ${JSON.stringify(description)}\n---\n\n${body}`;
}

/** The HTTP reference: the OpenAPI document, and a page that shows it without another origin. */
export async function writeHttp(): Promise<number> {
  const [{ manifest } = { manifest: undefined }] = listPackages().filter(
    ({ path }) => path === "packages/flags",
  );
  const document = await generateOpenApi(manifest?.version ?? "0.0.0");
  const text = `${JSON.stringify(document, null, 2)}\n`;
  write("public/reference/http/openapi.json", text);
  await must(
    "node",
    [
      "node_modules/@redocly/cli/bin/cli.js",
      "lint",
      "--config",
      "redocly.yaml",
      join(pages, "public/reference/http/openapi.json"),
    ],
    {
      cwd: site,
      env: { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
    },
  );
  const operations = listOperations(document);
  const rows = operations.map(
    ({ method, path, summary }) =>
      `<tr><td>${method}</td><td><code>${path}</code></td><td>${summary}</td></tr>`,
  );
  const template = readFileSync(join(site, "http.html"), "utf8");
  write("public/reference/http/index.html", template.replace("<!-- operations -->", rows.join("\n")));
  const scalar = readFileSync(
    join(site, "node_modules/@scalar/api-reference/dist/browser/standalone.js"),
    "utf8",
  );
  // Its source map is larger than itself and not served.
  write("public/reference/http/scalar.js", scalar.replace(/^\/\/# sourceMappingURL=.*$/m, ""));
  return operations.length;
}

function listOperations(document: Readonly<Record<string, unknown>>): {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
}[] {
  return Object.entries(document["paths"] as Record<string, Record<string, { summary?: string }>>).flatMap(
    ([path, item]) =>
      Object.entries(item).map(([method, { summary = "" }]) => ({
        method: method.toUpperCase(),
        path,
        summary: summary.replaceAll("&", "&amp;").replaceAll("<", "&lt;"),
      })),
  );
}

export function clearPages(): void {
  rmSync(pages, { recursive: true, force: true });
}

function write(name: string, text: string): void {
  const file = join(pages, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Runs a command of the site; its output is the error when it fails. */
export async function must(
  command: string,
  args: readonly string[],
  options: Parameters<typeof run>[2] = {},
): Promise<void> {
  const { ok, output } = await run(command, args, options);
  if (!ok) throw new Error(`${command} ${args.slice(0, 3).join(" ")} failed:\n${output}`);
}
