import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import { build } from "vite";
import { removeOldBuilds } from "./old-builds.ts";

/**
 * Builds the console into the folder that is named, which is there when all of it is there: `node build.ts <folder>`. The
 * server does so when it has no build that fits the sources, `npm run build` for a release.
 */

const output = resolve(process.argv[2] ?? join(import.meta.dirname, "..", "dist", "console", "release"));
const temporary = `${output}.${process.pid}`;
const packable = /\.(js|css|html|svg|json|webmanifest)$/u;
const compress = promisify(brotliCompress);

async function pack(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && packable.test(entry.name));
  await Promise.all(
    files.map(async (entry) => {
      const file = join(entry.parentPath, entry.name);
      const packed = await compress(await readFile(file), { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
      await writeFile(`${file}.br`, packed);
    }),
  );
}

// Vite takes the mode of the process that asks for a build, which may be a test; what is served is never a development build.
process.env["NODE_ENV"] = "production";
try {
  await mkdir(dirname(output), { recursive: true });
  await build({
    root: import.meta.dirname,
    configFile: join(import.meta.dirname, "vite.config.ts"),
    logLevel: "warn",
    build: { outDir: temporary, emptyOutDir: true },
  });
  await pack(temporary);
  // Another server may have built the same at the same time.
  await rename(temporary, output).catch(async (error: unknown) => {
    if ((await stat(join(output, "index.html")).catch(() => undefined)) === undefined) throw error;
  });
  await removeOldBuilds(output);
} finally {
  await rm(temporary, { recursive: true, force: true });
}
