import { parseArgs } from "node:util";
import { currentConfig } from "@millrace/engine/config/config";
import { AppError, explain, isAppError } from "@millrace/engine/errors/errors";
import { prepareFolders } from "@millrace/engine/process/folders";
import { createLibraries, type LoadedLibraries } from "./libraries.ts";
import { createLogger } from "@millrace/engine/logger";

/** Library documentation on the command line: `npm run libraries`. */

const usage = `npm run libraries                               lists them, and their documents
npm run libraries -- add <user/library>         adds one; the first time the repository is cloned
npm run libraries -- remove <user/library>      removes one
npm run libraries -- refresh                    clones the repository again
npm run libraries -- repository <url>|default   clones from there from now on`;

function wrong(message: string): AppError {
  return new AppError("invalid_parameter", message, { suggestion: `Usage:\n${usage}` });
}

function oneOf(parameters: string[], what: string): string {
  const [one, ...others] = parameters;
  if (one === undefined || others.length > 0) throw wrong(`Expected ${what}, got ${parameters.length} words.`);
  return one;
}

function shown({ repository, is_cloned, libraries, documents, problems }: LoadedLibraries): string {
  const lines = [`Repository: ${repository}${is_cloned ? "" : " (not cloned yet)"}`];
  for (const name of libraries) {
    const own = documents.filter(({ library }) => library === name);
    lines.push(`${name}: ${own.length} document(s), ${own.reduce((sum, { text }) => sum + text.length, 0)} characters`);
  }
  if (libraries.length === 0) lines.push("No library was added.");
  return [...lines, ...problems.map(({ file, problem }) => `${file}: ${problem}`)].join("\n");
}

async function perform(signal: AbortSignal): Promise<string> {
  const { positionals } = parseArgs({ allowPositionals: true, options: {} });
  const [command = "list", ...rest] = positionals;
  const config = currentConfig();
  const workspace = prepareFolders(config);
  const { dataDir, logLevel } = config;
  const libraries = createLibraries({ dataDir, workspace, logger: createLogger(logLevel) });
  switch (command) {
    case "list":
      return shown(libraries.load());
    case "add":
      return shown(await libraries.add(oneOf(rest, "one library"), signal));
    case "remove":
      return shown(await libraries.remove(oneOf(rest, "one library")));
    case "refresh":
      return shown(await libraries.refresh(signal));
    case "repository": {
      const url = oneOf(rest, "one address, or default");
      return shown(await libraries.setRepository(url === "default" ? null : url));
    }
    default:
      throw wrong(`There is no command "${command}".`);
  }
}

const stop = new AbortController();
process.once("SIGINT", () => stop.abort(new AppError("cancelled", "Stopped; nothing was changed.")));
try {
  process.stdout.write(`${await perform(stop.signal)}\n`);
} catch (error) {
  // parseArgs throws a TypeError that names the wrong option.
  const text = isAppError(error) ? explain(error) : error instanceof Error ? error.message : String(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}
