import { mkdirSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { environmentVariable, setVariables } from "@millrace/engine/config/config";
import { AppError, errorMessage, explain, isAppError } from "@millrace/engine/errors/errors";
import { applyEnvironment } from "@millrace/engine/manifest/custom-parts";
import { readManifest } from "@millrace/engine/manifest/manifest";
import { develop, tellServing, untilTurn } from "./develop.ts";

/** The program by command: `millrace start` and `millrace dev` serve the graphs of any folder that has a `langgraph.json`. */

const usage = `millrace start   serves the graphs of langgraph.json
millrace dev     the same, and starts again when a file of the folder changes

  --config <file>   which langgraph.json, or the folder it is in; else that of the working folder
  --port <number>   where to listen; else PORT, else 2024
  --host <address>  else HOST, else 127.0.0.1

Without a command it serves by the environment alone; see .env.example.`;

const options = {
  config: { type: "string", short: "c" },
  port: { type: "string", short: "p" },
  host: { type: "string" },
  /** Loads the program and waits for its turn; see develop.ts. */
  wait: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

const ownFolder = realpathSync(join(import.meta.dirname, ".."));

/** The manifest that is meant, absolute. Throws `config` where there is none. */
function manifestAt(place: string): string {
  const path = resolve(place);
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const file = isFolder ? join(path, "langgraph.json") : path;
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return realpathSync(file);
  throw new AppError("config", `There is no ${file}.`, {
    suggestion: "Write one with the graphs to serve, or say where it is: millrace start --config <file>.",
  });
}

/**
 * What of the server's own is kept beside a manifest: in one folder, which git does not see. Where everything is to be
 * elsewhere there is none, and the manifest's folder need not be writable. Throws `config` when it cannot be made.
 */
function ownParts(folder: string): Record<string, string> {
  if (realpathSync(folder) === ownFolder) return {};
  const home = join(folder, ".millrace");
  const parts = { MILLRACE_DATA_DIR: join(home, "data"), MILLRACE_WORKSPACE: join(home, "workspace") };
  if (Object.keys(parts).every((name) => environmentVariable(name))) return {};
  try {
    mkdirSync(parts.MILLRACE_WORKSPACE, { recursive: true });
    writeFileSync(join(home, ".gitignore"), "*\n");
  } catch (error) {
    throw new AppError("config", `The folder ${home} cannot be used: ${errorMessage(error)}.`, {
      suggestion: "Make it writable for this user, or set MILLRACE_DATA_DIR and MILLRACE_WORKSPACE to other folders.",
      cause: error,
    });
  }
  return parts;
}

/** Serves when it is its turn; what has changed until then is read then. */
async function startInTurn(file: string): Promise<void> {
  await import("../src/server.ts");
  await untilTurn();
  await start(file);
  tellServing();
}

async function start(file: string): Promise<void> {
  const folder = dirname(file);
  // What graphs read by relative paths lies beside the manifest, as on every LangGraph server.
  process.chdir(folder);
  setVariables({ MILLRACE_GRAPHS: file });
  await applyEnvironment(await readManifest(file));
  await serveBy(ownParts(folder));
}

/** The server is loaded when it is wanted: help and mistakes answer at once. */
async function serveBy(defaults?: Record<string, string>): Promise<void> {
  const { serve } = await import("../src/server.ts");
  await serve(defaults);
}

async function perform(): Promise<void> {
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  const [command, ...others] = positionals;
  const { config = ".", port, host, wait, help } = values;
  if (help) {
    process.stdout.write(`${usage}\n`);
    return;
  }
  if (others.length > 0 || ![undefined, "start", "dev"].includes(command)) {
    throw new AppError("invalid_parameter", `There is no command "${positionals.join(" ")}".`, {
      suggestion: `Usage:\n${usage}`,
    });
  }
  setVariables({ ...(port && { PORT: port }), ...(host && { HOST: host }) });
  if (command === undefined && values.config === undefined) await serveBy();
  else if (command === "dev") await develop(manifestAt(config));
  else if (wait) await startInTurn(manifestAt(config));
  else await start(manifestAt(config));
}

try {
  await perform();
} catch (error) {
  // A wrong option is parseArgs' TypeError, whose message says which.
  const text = isAppError(error) ? explain(error) : error instanceof Error ? error.message : String(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}
