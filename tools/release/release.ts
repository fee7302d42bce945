/** What a release would publish: the packages, built, packed and published to a local registry, each of it once. */

import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { run, runTsc } from "../process.ts";
import { root, type Workspace } from "../repository.ts";
import { expectNone, type Outcome } from "../steps.ts";
import { type Registry, startRegistry } from "./registry.ts";
import { pack, type Tarball } from "./tarball.ts";

export class Release {
  readonly packages: readonly Workspace[];
  readonly #folder: string;
  readonly #tarballs = new Map<string, Tarball>();
  #packed: Promise<Outcome> | undefined;
  #published: Promise<Outcome> | undefined;
  #registry: Registry | undefined;

  constructor(packages: readonly Workspace[], folder: string) {
    this.packages = packages;
    this.#folder = folder;
  }

  /** Steps run side by side, so each waits for what it needs. */
  pack(): Promise<Outcome> {
    this.#packed ??= this.#buildAndPack();
    return this.#packed;
  }

  publish(): Promise<Outcome> {
    this.#published ??= this.#publishAll();
    return this.#published;
  }

  async tarballOf(name: string): Promise<Tarball> {
    await this.pack();
    const tarball = this.#tarballs.get(name);
    if (tarball === undefined) throw new Error(`${name} was not packed. See the step "build and pack".`);
    return tarball;
  }

  /** The address of the registry, which has all packages. */
  async registryUrl(): Promise<string> {
    const { ok } = await this.publish();
    if (!ok || this.#registry === undefined) {
      throw new Error('The packages were not published. See the step "published to a local registry".');
    }
    return this.#registry.url;
  }

  /** The version of a package of this repository. */
  versionOf(name: string): string | undefined {
    return this.packages.find(({ manifest }) => manifest.name === name)?.manifest.version;
  }

  async close(): Promise<void> {
    await this.#registry?.close();
  }

  async #buildAndPack(): Promise<Outcome> {
    // Built from nothing, so that no output of a deleted source is published.
    for (const { path } of this.packages) rmSync(join(root, path, "dist"), { recursive: true, force: true });
    const built = await runTsc(["-b", "tsconfig.build.json"]);
    if (!built.ok) return built;
    const app = await run("npm", ["run", "build", "--silent", "--workspace", "packages/console"]);
    if (!app.ok) return app;
    for (const workspace of this.packages) {
      const tarball = await pack(workspace, this.#folder);
      this.#tarballs.set(workspace.manifest.name, tarball);
      keep(tarball.path);
    }
    return { ok: true, output: "" };
  }

  async #publishAll(): Promise<Outcome> {
    const packed = await this.pack();
    if (!packed.ok) return { ok: false, output: 'Nothing was packed. See the step "build and pack".' };
    const folder = join(this.#folder, "registry");
    mkdirSync(folder);
    const registry = await startRegistry(folder);
    this.#registry = registry;
    const outcomes: Outcome[] = [];
    for (const { path } of this.#tarballs.values()) outcomes.push(await registry.publish(path));
    return expectNone(outcomes.filter(({ ok }) => !ok).map(({ output }) => output));
  }
}

/** Keeps a file in the folder `HALYARD_TARBALLS`, if it is set. A release publishes exactly these files. */
export function keep(file: string): void {
  const folder = process.env["HALYARD_TARBALLS"];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  copyFileSync(file, join(folder, basename(file)));
}
