import { expect, test } from "vitest";
import { listFiles, listPackages, read } from "./repository.ts";

const workflows = listFiles().filter((file) => /^\.github\/workflows\/.+\.ya?ml$/.test(file));

test.for(workflows)("%s uses actions by the hash of their commit, with the version beside it", (file) => {
  const uses = read(file).match(/uses: .+/g) ?? [];
  expect(uses.length).toBeGreaterThan(0);
  expect(uses.filter((line) => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual(
    [],
  );
});

test.for(workflows)("%s leaves no credentials in a checkout", (file) => {
  const text = read(file);
  const count = (pattern: RegExp): number => text.match(pattern)?.length ?? 0;
  expect(count(/persist-credentials: false/g)).toBe(count(/uses: actions\/checkout@/g));
});

test.for(workflows)("no job of %s that installs or runs code of the repository may write", (file) => {
  const [, ...jobs] = read(file).split(/^ {2}(?=[\w-]+:\n {4})/m);
  const running = jobs.filter((job) => /npm (?:ci|install|run|test)|\.ci\/run|npx /.test(job));
  expect(running.length).toBeGreaterThan(0);
  expect(running.filter((job) => /: write$/m.test(job))).toEqual([]);
});

test.for(workflows)("every npm script that %s runs exists", (file) => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(read("package.json"));
  const called = Array.from(read(file).matchAll(/\bnpm run ([\w:-]+)/g), ([, name = ""]) => name);
  expect(called.filter((name) => scripts[name] === undefined)).toEqual([]);
});

test("the release publishes each package after those it needs", () => {
  const [, names = ""] = /order=\((.+)\)/.exec(read(".github/workflows/release.yml")) ?? [];
  const order = names.split(" ").map((name) => `@halyard/${name}`);
  const packages = listPackages();
  expect(order.toSorted()).toEqual(packages.map(({ manifest }) => manifest.name).toSorted());
  const early = packages.flatMap(({ manifest }) => {
    const needed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
    const later = needed.filter((name) => order.indexOf(name) > order.indexOf(manifest.name));
    return later.map((name) => `${manifest.name} comes before ${name}`);
  });
  expect(early).toEqual([]);
});
