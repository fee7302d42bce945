/** What a source file declares, imports and exports, and where a name of it is declared. */

import { posix } from "node:path";
import { child, list, type Node, nameOf, parse, type Syntax } from "./syntax.ts";

/** Another file or package, and the name there. `*` is all of its names. */
export interface Origin {
  readonly from: string;
  readonly name: string;
}

export interface Module {
  readonly file: string;
  readonly syntax: Syntax;
  /** A name may have several declarations: overloads, or a type and a value. */
  readonly declarations: ReadonlyMap<string, readonly Node[]>;
  readonly imports: ReadonlyMap<string, Origin>;
  /** Exported names: declared or imported here under a name, or another file's. */
  readonly exports: ReadonlyMap<string, Origin | { readonly local: string }>;
  /** The files and packages of `export * from`. */
  readonly stars: readonly string[];
}

/** Where a name is declared: in a file of the package, or in another package. */
export type Place =
  | { readonly kind: "declared"; readonly module: Module; readonly name: string }
  | { readonly kind: "external"; readonly from: string; readonly name: string };

/** The files of a package, each read once. */
export class Modules {
  readonly #read: (file: string) => string;
  readonly #modules = new Map<string, Module>();

  constructor(read: (file: string) => string) {
    this.#read = read;
  }

  load(file: string): Module {
    const module = this.#modules.get(file) ?? readModule(file, this.#read(file));
    this.#modules.set(file, module);
    return module;
  }

  /** Every exported name with its place, and the packages whose names are all exported. */
  exportsOf(file: string): {
    readonly names: ReadonlyMap<string, Place>;
    readonly packages: readonly string[];
  } {
    const { exports, stars } = this.load(file);
    const names = new Map<string, Place>();
    const packages: string[] = [];
    for (const star of stars) {
      if (!isFile(star)) packages.push(star);
      else for (const [name, place] of this.exportsOf(star).names) names.set(name, place);
    }
    for (const name of exports.keys()) {
      const place = this.#findExport(file, name);
      if (place !== undefined) names.set(name, place);
    }
    return { names, packages };
  }

  /** The places of a name that a declaration in this module uses; none for a global or a type parameter. */
  resolve(module: Module, name: string): Place[] {
    if (module.declarations.has(name)) return [{ kind: "declared", module, name }];
    const origin = module.imports.get(name);
    return origin === undefined ? [] : this.#follow(origin);
  }

  #follow({ from, name }: Origin): Place[] {
    if (!isFile(from)) return [{ kind: "external", from, name }];
    if (name === "*") return [...this.exportsOf(from).names.values()];
    const place = this.#findExport(from, name);
    return place === undefined ? [] : [place];
  }

  #findExport(file: string, name: string): Place | undefined {
    const module = this.load(file);
    const found = module.exports.get(name);
    if (found === undefined) {
      return module.stars
        .filter(isFile)
        .map((star) => this.#findExport(star, name))
        .find((place) => place !== undefined);
    }
    if ("local" in found) return this.resolve(module, found.local)[0];
    return this.#follow(found)[0];
  }
}

/** Files have paths from the root of the repository, packages have names. */
function isFile(from: string): boolean {
  return /\.tsx?$/.test(from);
}

function readModule(file: string, text: string): Module {
  const syntax = parse(file, text);
  const declarations = new Map<string, Node[]>();
  const imports = new Map<string, Origin>();
  const exports = new Map<string, Origin | { readonly local: string }>();
  const stars: string[] = [];
  const originOf = (statement: Node): string => {
    const from = nameOf(child(statement, "source"));
    return from.startsWith(".") ? posix.join(posix.dirname(file), from) : from;
  };
  const declare = (statement: Node, isExported: boolean): void => {
    for (const name of declaredNames(statement)) {
      declarations.set(name, [...(declarations.get(name) ?? []), statement]);
      if (isExported) exports.set(name, { local: name });
    }
  };
  for (const statement of syntax.statements) {
    switch (statement.type) {
      case "ImportDeclaration":
        for (const specifier of list(statement, "specifiers")) {
          imports.set(nameOf(child(specifier, "local")), {
            from: originOf(statement),
            name: importedName(specifier),
          });
        }
        break;
      case "ExportAllDeclaration":
        stars.push(originOf(statement));
        break;
      case "ExportNamedDeclaration": {
        const declaration = child(statement, "declaration");
        if (declaration !== undefined) declare(declaration, true);
        const from = child(statement, "source") === undefined ? undefined : originOf(statement);
        for (const specifier of list(statement, "specifiers")) {
          const name = nameOf(child(specifier, "local"));
          exports.set(
            nameOf(child(specifier, "exported")),
            from === undefined ? { local: name } : { from, name },
          );
        }
        break;
      }
      default:
        declare(statement, false);
    }
  }
  return { file, syntax, declarations, imports, exports, stars };
}

function importedName(specifier: Node): string {
  if (specifier.type === "ImportNamespaceSpecifier") return "*";
  return specifier.type === "ImportDefaultSpecifier" ? "default" : nameOf(child(specifier, "imported"));
}

function declaredNames(statement: Node): string[] {
  if (statement.type === "VariableDeclaration") {
    return list(statement, "declarations").map((declarator) => nameOf(child(declarator, "id")));
  }
  const name = nameOf(child(statement, "id"));
  return name === "" ? [] : [name];
}
