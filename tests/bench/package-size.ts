import { existsSync, globSync, lstatSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { packageFiles, packAndInstall } from "../support/processes/packed.ts";
import { projectFolder } from "../support/source-files.ts";
import type { Section } from "./figures.ts";

/** MB; 70 % of what a clone needed before there was a package. */
const maxInstalled = 503;

const Manifest = z.looseObject({
  dependencies: z.record(z.string(), z.string()).default({}),
  optionalDependencies: z.record(z.string(), z.string()).default({}),
  peerDependencies: z.record(z.string(), z.string()).default({}),
  peerDependenciesMeta: z.record(z.string(), z.looseObject({ optional: z.boolean().optional() })).default({}),
});

/** How large the package is as a file, and with all that it needs beside it, as npm would install it on this machine. */
export async function measurePackage(): Promise<Section> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  try {
    const tarball = await packAndInstall(folder, { name: "millrace", path: ".", names: packageFiles });
    const installed = join(folder, "app", "node_modules", "millrace");
    const seen = new Set([installed]);
    for (const one of seen) for (const needed of neededBy(one)) seen.add(needed);
    const bytes = [...seen].map(sizeOf).reduce((sum, size) => sum + size, 0);
    const note = `with ${seen.size - 1} packages that it needs`;
    return {
      title: "The package",
      figures: [
        { measure: "packed", value: statSync(tarball).size / 1e6, unit: "MB" },
        { measure: "installed", value: bytes / 1e6, unit: "MB", max: maxInstalled, note },
      ],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The folders of the packages that one needs; what is optional, as far as it is there. */
function neededBy(folder: string): string[] {
  const manifest = Manifest.parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = manifest;
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
  const names = [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers];
  return [...new Set(names)].flatMap((name) => {
    const places = [join(folder, "node_modules", name), join(projectFolder, "node_modules", name)];
    const place = places.find((path) => existsSync(path));
    if (place === undefined && !(name in optionalDependencies)) throw new Error(`${name} is not installed.`);
    return place ?? [];
  });
}

/** Bytes on the disk, without the packages inside, which are counted by themselves. */
function sizeOf(folder: string): number {
  const files = globSync("**/*", { cwd: folder, exclude: (path) => path === "node_modules" });
  return files.reduce((sum, file) => sum + lstatSync(join(folder, file)).blocks * 512, 0);
}
