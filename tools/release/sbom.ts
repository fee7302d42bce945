/** The bill of materials of a package: what comes with it when it is installed, in CycloneDX format, made by npm. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { run } from "../process.ts";
import { expectNone, type Outcome } from "../steps.ts";
import { scopeSetting } from "./registry.ts";
import { keep } from "./release.ts";

interface Component {
  readonly name: string;
  readonly version: string;
  /** The address of a package: `pkg:npm/%40halyard/wire@0.2.0`. */
  readonly purl: string;
}

interface Bill {
  readonly bomFormat: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
}

type Subject = Pick<Component, "name" | "version">;

const QUIET = ["--no-audit", "--no-fund", "--loglevel=error"];

/** Writes the bill beside the tarball, and prints what is in it. `dependencies` are those that the package declares. */
export async function writeBill(
  tarball: string,
  registryUrl: string,
  dependencies: readonly string[],
): Promise<Outcome> {
  const folder = `${tarball}.bill`;
  mkdirSync(folder);
  const unpacked = await run("tar", ["-xzf", tarball, "--strip-components=1", "-C", folder]);
  if (!unpacked.ok) return unpacked;
  const file = join(folder, "package.json");
  const { devDependencies: _, ...manifest } = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify(manifest));
  writeFileSync(join(folder, ".npmrc"), `${scopeSetting(registryUrl)}\n`);
  // Peers are the application's, which has a bill of its own.
  const resolve = ["install", "--package-lock-only", "--ignore-scripts", "--legacy-peer-deps", ...QUIET];
  const resolved = await run("npm", [...resolve, "--prefer-offline"], { cwd: folder });
  if (!resolved.ok) return resolved;
  const args = ["sbom", "--sbom-format=cyclonedx", "--sbom-type=library", "--package-lock-only"];
  const listed = await run("npm", [...args, "--legacy-peer-deps", "--loglevel=error"], { cwd: folder });
  if (!listed.ok) return listed;
  const bill = nameSubject(JSON.parse(listed.stdout), manifest.name);
  const path = tarball.replace(/\.tgz$/, ".cdx.json");
  writeFileSync(path, `${JSON.stringify(bill, null, 2)}\n`);
  keep(path);
  const names = bill.components.map(({ name, version }) => `${name} ${version}`);
  console.log(`  ${basename(path)}: ${names.length === 0 ? "no dependencies" : names.join(", ")}`);
  return expectNone(findProblems(bill, manifest, dependencies));
}

/** npm takes the subject's name from the folder. */
function nameSubject(bill: Bill, name: string): Bill {
  const { metadata } = bill;
  return { ...bill, metadata: { ...metadata, component: { ...metadata.component, name } } };
}

function findProblems(bill: Bill, { name, version }: Subject, dependencies: readonly string[]): string[] {
  const { purl } = bill.metadata.component;
  const isSubject = decodeURIComponent(purl) === `pkg:npm/${name}@${version}`;
  const missing = dependencies.filter(
    (dependency) => !bill.components.some((part) => part.name === dependency),
  );
  return [
    ...(bill.bomFormat === "CycloneDX" ? [] : [`npm wrote ${bill.bomFormat} instead of CycloneDX.`]),
    ...(isSubject ? [] : [`The bill is about ${purl}, not ${name} ${version}.`]),
    ...missing.map((dependency) => `The bill of ${name} lacks ${dependency}.`),
  ];
}
