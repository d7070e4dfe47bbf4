import { existsSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Argument, Command, CommanderError, Option } from "commander";
import { distance } from "fastest-levenshtein";
import { z } from "zod";
import { addVariables, environmentVariable, setVariables } from "@millrace/engine/config/config";
import { AppError, errorMessage, explain, isAppError } from "@millrace/engine/errors/errors";
import { applyEnvironment } from "@millrace/engine/manifest/custom-parts";
import { readManifest } from "@millrace/engine/manifest/manifest";
import { chat, type ChatOptions, runOnce } from "./chat.ts";
import { defaultUrl } from "./client.ts";
import { addMaintenance } from "./maintain.ts";
import { completionScript, type Shell, shells } from "./completion.ts";
import { createProject, specOf } from "./new-project.ts";
import { develop, reportServing, untilTurn } from "./develop.ts";

/** The command line. Without a command it serves. */

/** The exit code for wrong usage in `sysexits.h`. */
const wrongUsage = 64;

const ownFolder = realpathSync(join(import.meta.dirname, ".."));

/** The program's package; a compiled one has its files two folders deeper. */
const packageFolder = ownFolder.endsWith(join("dist", "package")) ? resolve(ownFolder, "..", "..") : ownFolder;

/** The absolute path of the manifest. Throws `config` if there is none. */
function manifestAt(place: string): string {
  const path = resolve(place);
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const file = isFolder ? join(path, "langgraph.json") : path;
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return realpathSync(file);
  throw new AppError("config", `There is no ${file}.`, {
    suggestion: "Say where it is by --config <file>, or make a folder with one: millrace new <folder>.",
  });
}

/**
 * The server's own files next to a manifest: in one folder that git ignores. If all are configured elsewhere there is
 * none, and the manifest's folder may be read-only. Throws `config` if it cannot be created.
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

/** Serves when its turn comes, reading changes made until then. */
async function startInTurn(file: string): Promise<void> {
  await import("../src/server.ts");
  await untilTurn(async () => {
    const [{ checkGraphs }, defaults] = await Promise.all([import("./check-graphs.ts"), enter(file)]);
    return await checkGraphs(defaults);
  });
  await start(file);
  reportServing();
}

async function start(file: string): Promise<void> {
  await serveBy(await enter(file));
}

/** Changes into a manifest's folder and loads its environment; returns the defaults for unset variables. */
async function enter(file: string): Promise<Record<string, string>> {
  const folder = dirname(file);
  // Graphs read relative paths from the manifest's folder, as on every LangGraph server.
  process.chdir(folder);
  setVariables({ MILLRACE_GRAPHS: file });
  await applyEnvironment(await readManifest(file));
  return ownParts(folder);
}

/** Selects the built-in assistant, working on the files of the current folder, which has no graphs of its own. */
function enterAssistant(): Record<string, string> {
  setVariables({ MILLRACE_GRAPHS: join(ownFolder, "langgraph.json") });
  return ownParts(process.cwd());
}

/** Serves the assistant where none of its sources change. */
async function developAssistant(): Promise<void> {
  const next = "For graphs of your own: millrace new <folder>";
  process.stdout.write(`There is no langgraph.json here: this serves the assistant. ${next}\n`);
  addVariables({ MILLRACE_LOCAL_PAGES: "1" });
  await serveBy(enterAssistant());
}

/** The manifest to serve from here; `undefined` if there is none and the assistant is served. */
function manifestHere(config: string | undefined): string | undefined {
  const named = environmentVariable("MILLRACE_GRAPHS");
  if (config !== undefined) return manifestAt(config);
  if (existsSync("langgraph.json")) return manifestAt(".");
  return named === undefined ? undefined : manifestAt(named);
}

/** Loads the server only when needed: help and mistakes respond at once. */
async function serveBy(defaults?: Record<string, string>): Promise<void> {
  const { serve } = await import("../src/server.ts");
  await serve(defaults);
}

const commands = [
  "start",
  "dev",
  "new",
  "run",
  "chat",
  "doctor",
  "backup",
  "restore",
  "prune",
  "verify",
  "move",
  "completion",
  "help",
];

function versionText(): string {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(join(ownFolder, "package.json"), "utf8")));
  return version;
}

interface ServeOptions {
  config?: string;
  port?: string;
  host?: string;
  wait?: boolean;
}

function serving(command: Command): Command {
  return command
    .option("-c, --config <file>", "which langgraph.json, or the folder it is in (default: the working folder's)")
    .option("-p, --port <number>", "where to listen (default: PORT, else 2024 or the next free one)")
    .option("--host <address>", "at which address (default: HOST, else 127.0.0.1)");
}

function asking(command: Command): Command {
  return command
    .option("-u, --url <address>", "where the server listens", defaultUrl)
    .option("-k, --key <key>", "the key for it (default: MILLRACE_API_KEY)")
    .option("-g, --graph <id>", "the graph or assistant that answers", "agent")
    .option("-t, --thread <id>", "the thread to go on with (default: a new one)");
}

interface AskOptions {
  url: string;
  key?: string;
  graph: string;
  thread?: string;
}

function chatOptions({ url, key, graph, thread }: AskOptions): ChatOptions {
  return { url: url.replace(/\/+$/u, ""), key: key ?? environmentVariable("MILLRACE_API_KEY"), graph, thread };
}

function setPlace({ port, host }: ServeOptions): void {
  setVariables({ ...(port !== undefined && { PORT: port }), ...(host !== undefined && { HOST: host }) });
}

/** Adds `doctor`, which checks what `start` would serve. */
function addDoctor(millrace: Command): void {
  millrace
    .command("doctor")
    .description("looks for what would keep a server from working, and says what to do")
    .option(
      "-c, --config <file>",
      "which langgraph.json, or the folder it is in (default: what millrace start serves here)",
    )
    .action(async ({ config }: ServeOptions) => {
      const { doctor } = await import("./doctor.ts");
      const isWell = await doctor(async () => {
        const file = manifestHere(config);
        if (file !== undefined) return { file, defaults: await enter(file) };
        return { file: "the assistant, since there is no langgraph.json here", defaults: enterAssistant() };
      });
      if (!isWell) process.exitCode = 1;
    });
}

function program(): Command {
  const millrace = new Command("millrace")
    .description("Runs LangGraph.js graphs durably behind the LangGraph Platform API.")
    .version(versionText())
    .showHelpAfterError("(millrace --help shows all commands)")
    .exitOverride()
    .addHelpText(
      "after",
      "\nWithout a command it serves what the environment says, or .env of the working folder (MILLRACE_GRAPHS and others).",
    );
  serving(millrace.command("start", { isDefault: true }))
    .description("serves the graphs of langgraph.json, or the assistant where there is none")
    // Loads the program and waits for its turn; see develop.ts.
    .addOption(new Option("--wait").hideHelp())
    .action(async (options: ServeOptions) => {
      setPlace(options);
      const isNamed = process.argv[2] === "start" || options.config !== undefined;
      const manifest = manifestHere(options.config);
      if (manifest === undefined) await serveBy(enterAssistant());
      else if (!isNamed) await serveBy();
      else if (options.wait === true) await startInTurn(manifest);
      else await start(manifest);
    });
  serving(millrace.command("dev"))
    .description("the same as start, and starts again when a file of the folder changes")
    .action(async (options: ServeOptions) => {
      setPlace(options);
      const manifest = manifestHere(options.config);
      await (manifest === undefined ? developAssistant() : develop(manifest));
    });
  millrace
    .command("new <folder>")
    .description("makes a folder with graphs, a tool and a test")
    .action((folder: string) => void process.stdout.write(createProject(folder, specOf(packageFolder, versionText()))));
  asking(millrace.command("run <message>"))
    .description("sends one message and prints the answer")
    .option("--json", "prints everything as lines of JSON: words, calls, results, questions")
    .action(async (message: string, options: AskOptions & { json?: boolean }) => {
      if (!(await runOnce(message, chatOptions(options), options.json === true))) process.exitCode = 1;
    });
  asking(millrace.command("chat"))
    .description("talks with a graph in the terminal")
    .action(async (options: AskOptions) => chat(chatOptions(options)));
  addDoctor(millrace);
  addMaintenance(millrace, maintainedParts);
  millrace
    .command("completion")
    .addArgument(new Argument("<shell>", "whose completion it is").choices(shells))
    .description("prints what makes a shell complete commands and options")
    .action((shell: Shell) => void process.stdout.write(completionScript(shell, millrace)));
  return millrace;
}

/** The variables of the folder served from here, or of `config`'s folder, including its `env`. */
async function maintainedParts(config?: string): Promise<Record<string, string>> {
  if (config !== undefined) return await enter(manifestAt(config));
  return existsSync(".millrace") ? ownParts(process.cwd()) : {};
}

/** The command probably meant. */
function meant(word: string): string {
  const near = commands.filter((command) => distance(command, word) <= 2);
  return near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
}

async function perform(): Promise<void> {
  const [first, second] = process.argv.slice(2);
  const named = first === "help" ? second : first;
  if (named !== undefined && !named.startsWith("-") && !commands.includes(named)) {
    process.stderr.write(`There is no command "${named}".${meant(named)}\n(millrace --help shows all commands)\n`);
    process.exitCode = wrongUsage;
    return;
  }
  await program().parseAsync();
}

try {
  await perform();
} catch (error) {
  // Commander has already printed help, version and option errors.
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : wrongUsage;
  else {
    const text = isAppError(error) ? explain(error) : errorMessage(error);
    process.stderr.write(`${text}\n`);
    process.exitCode = 1;
  }
}
