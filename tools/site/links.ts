/** Checks the built site: every link, anchor and file exists, and nothing loads from another origin. */

import { existsSync, globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

interface Built {
  readonly ids: ReadonlySet<string>;
  readonly links: readonly string[];
  readonly loaded: readonly string[];
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

/** The values of attributes that lead elsewhere, those that load a file, and the places that a link can name. */
function readBuilt(html: string): Built {
  const ids = new Set<string>();
  const links: string[] = [];
  const loaded: string[] = [];
  // The scripts hold the same text again as data.
  const visible = html.replaceAll(/<script\b([^>]*)>[\s\S]*?<\/script>/g, "<script$1>");
  for (const [, tag = "", attributes = ""] of visible.matchAll(
    /<([a-z][\w-]*)((?:\s+[^\s=>]+(?:="[^"]*")?)*)\s*\/?>/g,
  )) {
    for (const [, name = "", value = ""] of attributes.matchAll(/([^\s=>]+)="([^"]*)"/g)) {
      const decoded = value.replaceAll(
        /&(amp|lt|gt|quot|#39);/g,
        (_, entity: string) => ENTITIES[entity] ?? "",
      );
      if (name === "id" || (tag === "a" && name === "name")) ids.add(decoded);
      else if (tag === "a" && name === "href") links.push(decoded);
      else if (tag === "link" && name === "href" && !/rel="canonical"/.test(attributes)) loaded.push(decoded);
      else if (name === "src") loaded.push(decoded);
    }
  }
  return { ids, links, loaded };
}

/** Problems of the site in `folder`, which is served below `base`. */
export function findBrokenAddresses(folder: string, base: string): string[] {
  const pages = new Map<string, Built>();
  for (const file of globSync("**/*.html", { cwd: folder })) {
    pages.set(file.replaceAll("\\", "/"), readBuilt(readFileSync(join(folder, file), "utf8")));
  }
  const problems: string[] = [];
  for (const [page, { links, loaded }] of pages) {
    for (const address of loaded) {
      if (/^data:/.test(address)) continue;
      if (/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(address)) {
        problems.push(`${page}: loads ${address} from another origin.`);
      } else if (findFile(folder, page, address, base) === undefined) {
        problems.push(`${page}: loads ${address}, which does not exist.`);
      }
    }
    for (const link of links) {
      const problem = judgeLink(folder, page, link, base, pages);
      if (problem !== undefined) problems.push(`${page}: the link ${link} ${problem}`);
    }
  }
  return [...new Set(problems)];
}

function judgeLink(
  folder: string,
  page: string,
  link: string,
  base: string,
  pages: ReadonlyMap<string, Built>,
): string | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(link)) return undefined;
  const [path = "", anchor = ""] = link.split("#");
  const file = path === "" ? page : findFile(folder, page, path, base);
  if (file === undefined) return "leads to no page.";
  if (anchor === "" || !file.endsWith(".html")) return undefined;
  return pages.get(file)?.ids.has(decodeURIComponent(anchor))
    ? undefined
    : `names #${anchor}, which ${file} does not have.`;
}

/** The file of an address as a static host finds it: with `.html`, or as the index of a folder. */
export function findFile(folder: string, page: string, address: string, base: string): string | undefined {
  const [path = ""] = decodeURI(address).split(/[?#]/);
  if (path.startsWith("/") && !path.startsWith(base)) return undefined;
  const inside = path.startsWith("/") ? path.slice(base.length) : posix.join(posix.dirname(page), path);
  const candidates =
    inside === "" || inside.endsWith("/") ? [`${inside}index.html`] : [inside, `${inside}.html`];
  return candidates
    .map((name) => posix.normalize(name))
    .find((name) => existsSync(join(folder, name)) && /\.\w+$/.test(name));
}
