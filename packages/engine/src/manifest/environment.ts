import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseEnv } from "node:util";
import { addVariables } from "../config/config.ts";
import { AppError, errorMessage } from "../errors/errors.ts";
import { hasCode } from "../errors/system-code.ts";
import type { Manifest } from "./manifest.ts";

/**
 * Sets the variables of the manifest's `env` (a file, or the values themselves) that are not set already: what the
 * process was started with wins. Answers with a file that is not there; one that cannot be read throws `config`.
 */
export async function applyEnvironment({ env, folder }: Pick<Manifest, "env" | "folder">): Promise<string | undefined> {
  // A list only names the variables that an image is given.
  if (env === undefined || Array.isArray(env)) return undefined;
  if (typeof env === "object") {
    addVariables(Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)])));
    return undefined;
  }
  const path = resolve(folder, env);
  try {
    addVariables(parseEnv(await readFile(path, "utf8")));
    return undefined;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return path;
    throw new AppError("config", `${path}, which env of langgraph.json names, cannot be read: ${errorMessage(error)}`, {
      suggestion: "Make it readable, or take env out of langgraph.json.",
      cause: error,
    });
  }
}
