import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { environmentVariable } from "@millrace/engine/config/config";
import type { AppError } from "@millrace/engine/errors/errors";
import { toModelError } from "../model-error.ts";
import { readVersion, type OllamaPlace } from "./api.ts";

/** Status of an Ollama service. `ERROR`: something answers unexpectedly. */
export const ollamaStatuses = ["RUNNING", "NOT_RUNNING", "NOT_INSTALLED", "ERROR"] as const;
export type OllamaStatus = (typeof ollamaStatuses)[number];

/** Result of a check. */
export type OllamaHealth =
  | { status: "RUNNING"; version: string }
  | { status: Exclude<OllamaStatus, "RUNNING">; problem: AppError };

/** Milliseconds to respond with the version, which needs no model. */
const patience = 3000;

/**
 * Checks whether the service runs. If nothing listens on this machine, `isInstalled` tells a stopped service from a
 * missing one. Rejects only with the signal's reason.
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

/** A kept-alive connection ends with the service and does not show whether a new one works. */
async function versionOf(place: OllamaPlace): Promise<string> {
  try {
    return await readVersion(place);
  } catch (error) {
    if (isRefused(error) || toModelError(error).code !== "network") throw error;
    return await readVersion(place);
  }
}

/** Whether all addresses of the name refused the connection. */
function isRefused(error: unknown): boolean {
  let current: unknown = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth += 1) {
    if ("code" in current && current.code === "ECONNREFUSED") return true;
    current = current.cause;
  }
  return false;
}

/** Common install folders outside `PATH`. */
const defaultFolders = [
  "/usr/local/bin",
  "/usr/bin",
  "/opt/homebrew/bin",
  "/Applications/Ollama.app/Contents/Resources",
];

/** Whether the program is installed: in a folder of `PATH`, or where its installers put it. */
export async function isOllamaInstalled(path: string = environmentVariable("PATH") ?? ""): Promise<boolean> {
  const own = environmentVariable("LOCALAPPDATA");
  const folders = [...path.split(delimiter), ...defaultFolders, ...(own ? [join(own, "Programs", "Ollama")] : [])];
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
