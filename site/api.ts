/** Writes the API reference as Markdown. TypeDoc needs a TypeScript that has its API, so it runs with the site's own. */

import { join } from "node:path";
import { Application, type DocumentationEntryPoint } from "typedoc";

/** The name by which an entry point is imported, and its source file. */
interface Entry {
  readonly name: string;
  readonly source: string;
}

const [out = "", list = "[]"] = process.argv.slice(2);
const entries: readonly Entry[] = JSON.parse(list);
const root = join(import.meta.dirname, "..");

const app = await Application.bootstrapWithPlugins({
  plugin: ["typedoc-plugin-markdown"],
  tsconfig: join(import.meta.dirname, "tsconfig.api.json"),
  entryPoints: entries.map(({ source }) => join(root, source)),
  basePath: root,
  name: "API",
  readme: "none",
  // `npm run check` compiles the sources; here only their types are read.
  skipErrorChecking: true,
  excludeExternals: true,
  excludePrivate: true,
  excludeInternal: true,
  disableSources: true,
  logLevel: "Error",
  validation: false,
  sort: ["source-order"],
  ...{
    out,
    router: "module",
    entryFileName: "index",
    hidePageHeader: true,
    hideBreadcrumbs: true,
    useCodeBlocks: true,
    expandObjects: false,
    parametersFormat: "table",
    propertiesFormat: "table",
    interfacePropertiesFormat: "table",
    typeDeclarationFormat: "table",
    indexFormat: "table",
    // Nearly every property is readonly; the signature says so where it matters.
    tableColumnSettings: { hideModifiers: true },
    sanitizeComments: true,
  },
});

const names = new Map(entries.map(({ name, source }) => [join(root, source), name]));
const points: DocumentationEntryPoint[] = app.getEntryPoints() ?? [];
for (const point of points) point.displayName = names.get(point.sourceFile.fileName) ?? point.displayName;
const project = app.converter.convert(points);
await app.generateOutputs(project);
if (app.logger.hasErrors()) process.exitCode = 1;
