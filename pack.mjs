// `npm pack` and `npm publish` at the root make the package `millrace`: JavaScript and types of all that the program is
// made of, and the built console, in dist/package/. Node runs no TypeScript in node_modules; in the repository the sources
// run as they are. While the package is packed, package.json names what was built, and what it needs from npm.
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

const root = import.meta.dirname;
const output = join(root, "dist", "package");
const manifest = join(root, "package.json");
const kept = join(root, "package.json.kept");
const workspaces = ["engine", "models", "offline", "testing"];
// It wants an older better-sqlite3, which npm would compile; here `overrides` say that ours does. So its files come along.
const copied = "langgraph-checkpoint-sqlite";
// The page of all routes needs three files of it. It depends on a package that tells its maker of every installation.
const page = "swagger-ui-dist";
const pageFiles = ["swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png"];
const pageLicences = ["LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt"];

const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const write = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);

function run(command, ...given) {
  const { status, error } = spawnSync(command, given, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? `exit code ${status}`}`);
}

/** The place of a source in what is built. */
const built = (source) => source.replace("./", "./dist/package/").replace(/\.ts$/, ".js");

/** In one package, what the workspaces import of one another by name lies at a relative path. */
function nameByPath(file) {
  const text = readFileSync(file, "utf8");
  const importing = (quote, ...path) => {
    const place = relative(dirname(file), join(output, "packages", ...path));
    return `${quote}${place.startsWith(".") ? place : `./${place}`}${quote}`;
  };
  const named = text
    .replaceAll(/(["'])@millrace\/(\w+)(?:\/([\w/-]+))?\1/g, (_, quote, workspace, path = "server") =>
      importing(quote, workspace, "src", `${path}.js`),
    )
    .replaceAll(/(["'])@langchain\/langgraph-checkpoint-sqlite\1/g, (_, quote) => importing(quote, copied, "index.js"))
    .replaceAll(`\`${page}/`, () => `\`${relative(dirname(file), join(output, "packages", page))}/`);
  if (named !== text) writeFileSync(file, named);
}

function build() {
  rmSync(output, { recursive: true, force: true });
  run("tsc", "-p", "tsconfig.package.json");
  const saver = join(root, "node_modules", "@langchain", copied);
  for (const name of ["dist/index.js", "dist/index.d.ts", "LICENSE"])
    cpSync(join(saver, name), join(output, "packages", copied, basename(name)));
  for (const file of globSync(`${output}/**/*.{js,d.ts}`)) nameByPath(file);
  for (const name of [...pageFiles, ...pageLicences])
    cpSync(join(root, "node_modules", page, name), join(output, "packages", page, name));
  run(process.execPath, "console/build.ts", join(output, "console", "release"));
  for (const name of ["millrace.cjs", "resolve-once.cjs"]) cpSync(join(root, "bin", name), join(output, "bin", name));
  chmodSync(join(output, "bin", "millrace.cjs"), 0o755);
  const { name, version, type } = read(manifest);
  write(join(output, "package.json"), { name, version, type });
  for (const workspace of workspaces) {
    const folder = join(output, "packages", workspace);
    mkdirSync(folder, { recursive: true });
    write(join(folder, "package.json"), { name: `@millrace/${workspace}`, version, type });
  }
  write(join(output, "langgraph.json"), { graphs: { agent: "./src/graph/workflow.js:workflow" } });
}

/** The manifest as it is published. */
function published() {
  const { exports, bin, dependencies, devDependencies, description, license, name, version, type, engines } =
    read(manifest);
  const needed = workspaces.map((workspace) => read(join(root, "packages", workspace, "package.json")).dependencies);
  const all = Object.entries(Object.assign({}, dependencies, ...needed));
  const places = Object.entries(exports).map(([path, source]) => [
    path,
    { types: built(source).replace(/\.js$/, ".d.ts"), default: built(source) },
  ]);
  return {
    name,
    version,
    description,
    license,
    type,
    bin: Object.fromEntries(Object.entries(bin).map(([command, file]) => [command, `dist/package/${file}`])),
    exports: { ...Object.fromEntries(places), "./package.json": "./package.json" },
    files: ["dist/package", "CHANGELOG.md", ".env.example"],
    dependencies: Object.fromEntries(
      all
        .filter(([one]) => !one.startsWith("@millrace/") && !one.endsWith(copied) && one !== page)
        .toSorted(([one], [other]) => one.localeCompare(other)),
    ),
    // It bundles the pages of graphs that have some; a server without one says what to install.
    peerDependencies: { rolldown: `^${devDependencies.rolldown}` },
    peerDependenciesMeta: { rolldown: { optional: true } },
    engines,
  };
}

if (process.argv[2] === "begin") {
  build();
  const manifestOnDisk = published();
  writeFileSync(kept, readFileSync(manifest));
  write(manifest, manifestOnDisk);
} else {
  writeFileSync(manifest, readFileSync(kept));
  rmSync(kept);
  rmSync(output, { recursive: true });
}
