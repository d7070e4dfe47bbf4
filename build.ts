import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { build } from "rolldown";
import { z } from "zod";

/**
 * Bundles the server and every graph of langgraph.json into `dist/server/`, sharing their modules, so that a start reads a
 * few files instead of two thousand, and what no one calls takes no memory. Nothing needs it: `npm start` runs the sources.
 */

const root = import.meta.dirname;
// As deep as `packages/engine/src/http/` in its package, so that a module which looks for package.json two folders up finds it here too.
const output = join(root, "dist", "server");
const Manifest = z.looseObject({ graphs: z.record(z.string(), z.string().regex(/^.+:[^:]+$/u)) });
const manifest = Manifest.parse(JSON.parse(await readFile(join(root, "langgraph.json"), "utf8")));

const graphs = Object.entries(manifest.graphs).map(([id, place]) => {
  const colon = place.lastIndexOf(":");
  return { id, file: resolve(root, place.slice(0, colon)), name: place.slice(colon + 1) };
});

await rm(output, { recursive: true, force: true });
await mkdir(output, { recursive: true });
await build({
  cwd: root,
  input: {
    server: join(root, "src/server.ts"),
    // A thread begins with a file of its own.
    "count-worker": join(root, "src/context/tokens/count-worker.ts"),
    "document-worker": join(root, "toolkits/documents/formats/document-worker.ts"),
    "simulation-worker": join(root, "toolkits/circuits/simulation/simulation-worker.ts"),
    "plot-worker": join(root, "toolkits/circuits/simulation/plot/plot-worker.ts"),
    "page-worker": join(root, "toolkits/web/pages/page-worker.ts"),
    "type-reader": join(root, "packages/engine/src/graphs/schemas/type-reader.ts"),
    ...Object.fromEntries(graphs.map(({ id, file }) => [`graph-${id}`, file])),
  },
  platform: "node",
  // Native, found by its own path; a simulator of 20 MB; a bundler; a compiler; what reads a file beside it; and files that are served, not run.
  external: [
    "better-sqlite3",
    "eecircuit-engine",
    "rolldown",
    /^typescript\//u,
    "@resvg/resvg-wasm",
    /^swagger-ui-dist/u,
  ],
  // A warning about code inside a dependency is nothing this build can act on.
  onwarn: (warning, warn) => {
    if (!("id" in warning && String(warning.id).includes("node_modules"))) warn(warning);
  },
  output: {
    dir: output,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    minify: "dce-only",
  },
});

const bundled = graphs.map(({ id, name }) => [id, `./graph-${id}.js:${name}`]);
await writeFile(
  join(output, "langgraph.json"),
  `${JSON.stringify({ ...manifest, graphs: Object.fromEntries(bundled) }, null, 2)}\n`,
);
await writeFile(join(output, "package.json"), `${JSON.stringify({ type: "module" })}\n`);
const folder = relative(root, output);
process.stdout.write(
  `Built ${folder}/. Start it with:\nMILLRACE_GRAPHS=${folder}/langgraph.json NODE_COMPILE_CACHE=dist/cache node --max-semi-space-size=16 ${folder}/server.js\n`,
);
