"use strict";
const { existsSync } = require("node:fs");
const nodeModule = require("node:module");
const path = require("node:path");
const { fileURLToPath, pathToFileURL } = require("node:url");

/**
 * Tells Node where the program's own modules and those of its packages lie. It would look through the folders and read the
 * package.json again for each of the 7,000 imports of a start, which is a third of the start. What users' modules import it looks for itself.
 */

const folder = path.join(__dirname, "..");
const ending = `${path.sep}node_modules${path.sep}`;
/** The folder of packages: the one that this program is installed in, or its own. */
const packagesFolder = folder.includes(ending)
  ? folder.slice(0, folder.lastIndexOf(ending) + ending.length)
  : path.join(folder, "node_modules", path.sep);
const root = pathToFileURL(path.join(folder, path.sep)).href;
const ownFolders = ["bin/", "packages/", "src/", "toolkits/"].map((name) => root + name);
const packages = pathToFileURL(packagesFolder).href;
const written = /^\.{1,2}\/[^?#%]*(\.[cm]?[jt]s)$/u;

/** Formats of modules, by folder and ending: a package.json says them for a folder. @type {Map<string, string>} */
const formats = new Map();
/** What the name of a package means, by where it is imported. @type {Map<string, nodeModule.ResolveFnOutput>} */
const named = new Map();

/** @type {nodeModule.ResolveHookSync} */
function resolve(specifier, context, next) {
  const { parentURL = "", conditions, importAttributes } = context;
  // Folders with a dot hold what is no package of ours: other projects in `.cache` have packages of their own.
  const isPackage = parentURL.startsWith(packages) && !parentURL.startsWith(`${packages}.`);
  const isKnown = isPackage || ownFolders.some((folder) => parentURL.startsWith(folder));
  if (!isKnown || !conditions.includes("import") || Object.keys(importAttributes).length > 0)
    return next(specifier, context);
  const ending = written.exec(specifier)?.[1];
  if (ending !== undefined) {
    const url = new URL(specifier, parentURL).href;
    const place = url.slice(0, url.lastIndexOf("/") + 1) + ending;
    const format = formats.get(place);
    // Node says best what is wrong with an import of what is not there.
    if (format !== undefined && (isPackage || existsSync(fileURLToPath(url))))
      return { url, format, shortCircuit: true };
    const result = next(specifier, context);
    if (result.url === url && typeof result.format === "string") formats.set(place, result.format);
    return result;
  }
  if (/^[./#]|^\w+:/u.test(specifier)) return next(specifier, context);
  const key = `${packageOf(parentURL)} ${specifier}`;
  const known = named.get(key);
  if (known !== undefined) return known;
  const result = next(specifier, context);
  named.set(key, { ...result, shortCircuit: true });
  return result;
}

/** The folder of the package that a module is of: what the names of packages mean is the same everywhere in it. @param {string} url */
function packageOf(url) {
  const inPackages = url.lastIndexOf("/node_modules/");
  if (inPackages >= 0)
    return /^\/node_modules\/(?:@[^/]+\/)?[^/]+/u.exec(url.slice(inPackages))?.[0] + url.slice(0, inPackages);
  const inside = url.slice(root.length);
  return inside.startsWith("packages/") ? inside.split("/", 2).join("/") : "";
}

nodeModule.registerHooks({ resolve });

module.exports = { packages: packagesFolder };
