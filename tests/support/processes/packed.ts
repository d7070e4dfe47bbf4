import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import { projectFolder } from "../source-files.ts";

const modules = join(projectFolder, "node_modules");
const environment = { ...process.env, PATH: `${join(modules, ".bin")}${delimiter}${process.env["PATH"] ?? ""}` };

/** Runs a program to its end and gives what it said. Throws with that where it fails. */
export async function run(command: string, given: string[], cwd: string): Promise<string> {
  const child = spawn(command, given, { cwd, env: environment, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (part) => (output += String(part)));
  child.stderr.on("data", (part) => (output += String(part)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`${command} ended with ${String(code)}: ${output}`);
  return output;
}

/** What of the project the package `millrace` is made of. */
export const packageFiles =
  "package.json pack.mjs tsconfig.package.json CHANGELOG.md .env.example README.md LICENSE bin console exports packages src toolkits".split(
    " ",
  );

/**
 * Packs a package of the project (`path` in it, of which the files `names` are needed) in a copy below `folder`, since packing
 * rewrites its manifest for a while, and installs it into `<folder>/app` with the packages it needs beside it. Gives the
 * tarball.
 */
export async function packAndInstall(
  folder: string,
  { name, path, names }: { name: string; path: string; names: string[] },
): Promise<string> {
  const copy = join(folder, "copy");
  for (const one of [...names, "tsconfig.json"]) {
    cpSync(join(projectFolder, one), join(copy, one), {
      recursive: true,
      filter: (file) => !/\/(node_modules|tests|dist)$/u.test(file),
    });
  }
  linkModules(join(copy, "node_modules"));
  const workspaces = join(copy, "packages");
  mkdirSync(join(copy, "node_modules", "@millrace"));
  for (const workspace of readdirSync(workspaces))
    symlinkSync(join(workspaces, workspace), join(copy, "node_modules", "@millrace", workspace));
  await run("npm", ["pack", "--pack-destination", folder, "--offline"], join(copy, path));
  const tarball = join(folder, readdirSync(folder).find((one) => one.endsWith(".tgz")) ?? "");
  const app = join(folder, "app", "node_modules");
  linkModules(app);
  mkdirSync(join(app, name), { recursive: true });
  await run("tar", ["-xzf", tarball, "-C", join(app, name), "--strip-components=1"], folder);
  return tarball;
}

/** The packages from npm, as an installation would put them beside a package. */
function linkModules(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(modules).filter((one) => one !== "@millrace" && !one.startsWith(".")))
    symlinkSync(join(modules, name), join(folder, name));
}
