import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";

const PackageFile = z.object({ version: z.string() });

function versionIn(file: string): string {
  return PackageFile.parse(JSON.parse(readFileSync(file, "utf8"))).version;
}

/** The folder of a package that is installed, found through one of its modules (its package.json is not exported). */
function packageFolder(name: string): string {
  const entry = fileURLToPath(import.meta.resolve(name));
  return entry.slice(0, entry.lastIndexOf(name) + name.length);
}

/** Who we are, whom we run on, and the version of the LangGraph API that we speak. */
export const versions = {
  millrace: versionIn(join(dirname(fileURLToPath(import.meta.url)), "../../package.json")),
  langgraph: versionIn(join(packageFolder("@langchain/langgraph"), "package.json")),
  api: "1.5.1",
};
