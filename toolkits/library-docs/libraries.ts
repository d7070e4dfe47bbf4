import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { AppError } from "@millrace/engine/errors/errors";
import { ParsedFiles } from "../../src/extensions/parsed-files.ts";
import type { Logger } from "@millrace/engine/logger";
import { ServiceKey } from "../../src/tools/runtime/toolkit-services.ts";
import { type CloneLimits, cloneRepository, type Protocol, repositoryAddress } from "./clone.ts";
import { openLibrarySettings } from "./library-settings.ts";
import { documentsOf, librariesIn, librariesNamed, libraryIn, type Library } from "./library-files.ts";

/** A document of an added library; the path is relative to the repository. */
export interface LibraryDocument {
  library: string;
  path: string;
  text: string;
}

/** The current libraries of a project. */
export interface LoadedLibraries {
  repository: string;
  /** Whether the repository has been cloned. */
  is_cloned: boolean;
  /** Names as `user/library`. */
  libraries: readonly string[];
  documents: readonly LibraryDocument[];
  problems: readonly { file: string; problem: string }[];
}

/** The libraries of the server's project. */
export const librariesKey = new ServiceKey<Libraries>("libraries");

/** The documentation of a project's libraries. Changes are serialised. */
export interface Libraries {
  /** Only added libraries. `name` (`library` or `user/library`) restricts it. Never throws. */
  load(name?: string): LoadedLibraries;
  /**
   * Adds a library, cloning the repository the first time. Throws `not_found` for an unknown library, `conflict` for an
   * ambiguous name, and errors of the clone.
   */
  add(name: string, signal: AbortSignal): Promise<LoadedLibraries>;
  /** Throws `not_found` if it was not added. */
  remove(name: string): Promise<LoadedLibraries>;
  /** Clones the repository again; on failure the old clone stays. */
  refresh(signal: AbortSignal): Promise<LoadedLibraries>;
  /** Sets the repository for future clones (`lib-proxy`); `null`: the default. Throws `invalid_parameter`. */
  setRepository(url: string | null): Promise<LoadedLibraries>;
}

/** The storage of a workspace's libraries. */
export interface LibrariesOptions {
  /** Absolute; outside the workspace, so that no tool can write there. */
  dataDir: string;
  workspace: string;
  logger: Pick<Logger, "warn">;
  /** Default: https only. */
  protocols?: readonly Protocol[];
  /** Disk limits; have a default. */
  limits?: CloneLimits;
}

const maxDocumentBytes = 256 * 1024;
/** Maximum characters of all documents together. */
const maxCharacters = 1024 * 1024;

/** Opens a workspace's libraries; nothing is cloned before one is added. */
export function createLibraries(options: LibrariesOptions): Libraries {
  const { dataDir, workspace, logger, protocols = ["https"], limits } = options;
  const folder = join(dataDir, "library-docs");
  const repository = join(folder, "repository");
  const settings = openLibrarySettings(join(folder, "libraries.json"), workspace, logger);
  const files = new ParsedFiles<{ text: string } | { problem: string }>({
    maxBytes: maxDocumentBytes,
    parse: (text) => ({ text: text.trim() }),
    unusable: (problem) => ({ problem }),
    onRead(path, read) {
      if ("problem" in read) logger.warn({ file: path, ...read }, "library_document_not_used");
    },
  });
  const fetchRepository = (signal: AbortSignal): Promise<void> =>
    replaceFolder(repository, (place) =>
      cloneRepository(settings.address(), place, { protocols, signal, limits }),
    ).then(() => files.keepOnly([]));

  const load = (name?: string): LoadedLibraries => {
    const names = settings.names();
    const own = names.flatMap((known) => libraryIn(repository, known) ?? []);
    const wanted = name === undefined ? own : librariesNamed(own, name);
    const problems = names
      .filter((known) => !own.some((library) => library.name === known))
      .map((known) => ({ file: known, problem: "the repository has no such library" }));
    return {
      repository: settings.address(),
      is_cloned: existsSync(repository),
      libraries: names,
      ...readDocuments(wanted, { repository, files, problems }),
    };
  };

  let last: Promise<unknown> = Promise.resolve();
  /** Serialises changes; a failed one does not block the next. */
  const inTurn = (change: () => Promise<void> | void): Promise<LoadedLibraries> => {
    const mine = last.then(change).then(() => load());
    last = mine.catch(() => undefined);
    return mine;
  };
  return {
    load,
    add: (name, signal) =>
      inTurn(async () => {
        if (!existsSync(repository)) await fetchRepository(signal);
        const library = theOne(librariesNamed(librariesIn(repository), name), name, "The repository has");
        settings.saveNames([...new Set([...settings.names(), library])]);
      }),
    remove: (name) =>
      inTurn(() => {
        const known = settings.names().map((own) => ({ name: own, folder: "" }));
        const library = theOne(librariesNamed(known, name), name, "The project has");
        settings.saveNames(settings.names().filter((own) => own !== library));
      }),
    refresh: (signal) => inTurn(() => fetchRepository(signal)),
    setRepository: (url) =>
      inTurn(() => settings.saveAddress(url === null ? undefined : repositoryAddress(url, protocols))),
  };
}

function theOne(found: readonly Library[], name: string, who: string): string {
  const [first, ...others] = found;
  if (first === undefined) throw new AppError("not_found", `${who} no library ${JSON.stringify(name.slice(0, 200))}.`);
  if (others.length === 0) return first.name;
  const names = found.map((library) => library.name).slice(0, 10);
  throw new AppError("conflict", `${who} several libraries of this name: ${names.join(", ")}.`, {
    suggestion: "Name it with its user, as user/library.",
  });
}

/** Builds a folder next to the old one and replaces it when complete. */
async function replaceFolder(folder: string, make: (place: string) => Promise<void>): Promise<void> {
  const parent = join(folder, "..");
  mkdirSync(parent, { recursive: true });
  // Leftovers of an earlier attempt after a crash.
  for (const name of readdirSync(parent)) {
    if (/^(?:new|old)-/u.test(name)) rmSync(join(parent, name), { recursive: true, force: true });
  }
  const [fresh, former] = [join(parent, `new-${process.pid}`), join(parent, `old-${process.pid}`)];
  try {
    await make(fresh);
    rmSync(join(fresh, ".git"), { recursive: true, force: true });
    if (existsSync(folder)) renameSync(folder, former);
    renameSync(fresh, folder);
  } finally {
    for (const place of [fresh, former]) rmSync(place, { recursive: true, force: true });
  }
}

function readDocuments(
  libraries: readonly Library[],
  {
    repository,
    files,
    problems: before,
  }: {
    repository: string;
    files: ParsedFiles<{ text: string } | { problem: string }>;
    problems: LoadedLibraries["problems"];
  },
): Pick<LoadedLibraries, "documents" | "problems"> {
  const documents: LibraryDocument[] = [];
  const problems = [...before];
  let characters = 0;
  for (const library of libraries) {
    for (const file of documentsOf(library)) {
      const path = relative(repository, file);
      const read = files.read(file, repository);
      if ("problem" in read) {
        problems.push({ file: path, problem: `it is not used: ${read.problem}` });
        continue;
      }
      characters += read.text.length;
      if (characters > maxCharacters) {
        problems.push({
          file: path,
          problem: `it is not used: all together have more than ${maxCharacters} characters`,
        });
        return { documents, problems };
      }
      if (read.text !== "") documents.push({ library: library.name, path, text: read.text });
    }
  }
  return { documents, problems };
}
