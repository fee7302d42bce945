/**
 * Preloaded into a program of this checkout. Every package that the program and the helpers of tests import is resolved
 * from the build in HALYARD_BUILD, so that the same program runs with the packages of another commit. The services come
 * from this checkout.
 */
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../repository.ts";

const build = process.env["HALYARD_BUILD"] ?? root;
const buildUrl = pathToFileURL(`${build}/`).href;
const rootUrl = pathToFileURL(`${root}/`).href;
const parentURL = pathToFileURL(join(build, "package.json")).href;

/** Whether the importing file is part of this checkout, and of no installed package. */
function isOwn(url: string | undefined): boolean {
  if (url === undefined || !url.startsWith(rootUrl) || url.includes("/node_modules/")) return false;
  return build === root || !url.startsWith(buildUrl);
}

registerHooks({
  resolve(specifier, context, next) {
    const isPackage =
      /^(?:@?[a-z])/.test(specifier) && !/^(?:node:|file:|data:|@halyard\/services\b)/.test(specifier);
    if (!isOwn(context.parentURL)) return next(specifier, context);
    const resolved = next(specifier, isPackage ? { ...context, parentURL } : context);
    if (build !== root && isOwn(resolved.url) && /\/packages\/[^/]+\/src\//.test(resolved.url)) {
      throw new Error(`${context.parentURL} imports ${specifier}, which is not of the build in ${build}.`);
    }
    return resolved;
  },
});
