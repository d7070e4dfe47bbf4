// `npm pack` and `npm publish` build JavaScript and types into dist/, which Node needs in node_modules; here in the
// workspace the sources run as they are. While the package is packed, its exports name what was built.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = import.meta.dirname;
const manifest = join(folder, "package.json");
const kept = join(folder, "package.json.kept");

/** The place of a source in what is built. */
const built = (source) => source.replace("./src/", "./dist/").replace(/\.ts$/, ".js");

if (process.argv[2] === "begin") {
  rmSync(join(folder, "dist"), { recursive: true, force: true });
  const { status } = spawnSync("tsc", ["-p", folder], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
  const text = readFileSync(manifest, "utf8");
  writeFileSync(kept, text);
  const { exports, scripts: _scripts, ...rest } = JSON.parse(text);
  const places = Object.entries(exports).map(([name, source]) => [
    name,
    { types: built(source).replace(/\.js$/, ".d.ts"), default: built(source) },
  ]);
  const published = { ...rest, files: ["dist"], exports: Object.fromEntries(places) };
  writeFileSync(manifest, `${JSON.stringify(published, null, 2)}\n`);
} else {
  writeFileSync(manifest, readFileSync(kept, "utf8"));
  rmSync(kept);
  rmSync(join(folder, "dist"), { recursive: true });
}
