import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { environmentVariable } from "@millrace/engine/config/config";
import type { AppError } from "@millrace/engine/errors/errors";
import { toModelError } from "../model-error.ts";
import { readVersion, type OllamaPlace } from "./api.ts";

/** How a service of Ollama is. `ERROR`: something is there, or between, that does not answer as it should. */
export const ollamaStatuses = ["RUNNING", "NOT_RUNNING", "NOT_INSTALLED", "ERROR"] as const;
export type OllamaStatus = (typeof ollamaStatuses)[number];

/** What a look at the service has found. */
export type OllamaHealth =
  | { status: "RUNNING"; version: string }
  | { status: Exclude<OllamaStatus, "RUNNING">; problem: AppError };

/** Milliseconds that a service has to tell its version: it needs no model for that. */
const patience = 3000;

/**
 * Looks whether the service runs. Where nobody listens on this machine, `isInstalled` tells apart what is not started
 * and what is not there. Rejects only with the reason of the signal.
 */
export async function checkHealth(
  place: OllamaPlace,
  { isHere, isInstalled }: { isHere: boolean; isInstalled: () => Promise<boolean> },
): Promise<OllamaHealth> {
  const signal = AbortSignal.any([place.signal, AbortSignal.timeout(patience)]);
  try {
    return { status: "RUNNING", version: await versionOf({ ...place, signal }) };
  } catch (error) {
    place.signal.throwIfAborted();
    const problem = toModelError(error);
    if (!isRefused(error)) return { status: "ERROR", problem };
    return { status: isHere && !(await isInstalled()) ? "NOT_INSTALLED" : "NOT_RUNNING", problem };
  }
}

/** A connection that was kept from an earlier request ends with the service, and says nothing of who listens now. */
async function versionOf(place: OllamaPlace): Promise<string> {
  try {
    return await readVersion(place);
  } catch (error) {
    if (isRefused(error) || toModelError(error).code !== "network") throw error;
    return await readVersion(place);
  }
}

/** Whether nobody listens at the port; of a name with several addresses, at any. */
function isRefused(error: unknown): boolean {
  let current: unknown = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth += 1) {
    if ("code" in current && current.code === "ECONNREFUSED") return true;
    current = current.cause;
  }
  return false;
}

/** Where the program may be that no path names. */
const usualFolders = ["/usr/local/bin", "/usr/bin", "/opt/homebrew/bin", "/Applications/Ollama.app/Contents/Resources"];

/** Whether the program is on this machine: in the folders of `PATH`, or where its installers put it. */
export async function isOllamaInstalled(path: string = environmentVariable("PATH") ?? ""): Promise<boolean> {
  const own = environmentVariable("LOCALAPPDATA");
  const folders = [...path.split(delimiter), ...usualFolders, ...(own ? [join(own, "Programs", "Ollama")] : [])];
  const files = folders.filter((folder) => folder !== "").flatMap((folder) => programsIn(folder));
  const found = await Promise.all(files.map(async (file) => await isProgram(file)));
  return found.includes(true);
}

function programsIn(folder: string): string[] {
  return ["ollama", "ollama.exe"].map((name) => join(folder, name));
}

async function isProgram(file: string): Promise<boolean> {
  return await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
