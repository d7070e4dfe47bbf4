import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { AppError } from "@millrace/engine/errors/errors";
import { ParsedFiles } from "../../src/extensions/parsed-files.ts";
import type { Logger } from "@millrace/engine/logger";
import { ServiceKey } from "../../src/tools/runtime/toolkit-services.ts";
import { type CloneLimits, cloneRepository, type Protocol, repositoryAddress } from "./clone.ts";
import { openLibrarySettings } from "./library-settings.ts";
import { documentsOf, librariesIn, librariesNamed, libraryIn, type Library } from "./library-files.ts";

/** One document of a library that was added; the path is the repository's. */
export interface LibraryDocument {
  library: string;
  path: string;
  text: string;
}

/** What is there of the libraries of a project. */
export interface LoadedLibraries {
  repository: string;
  /** Whether the repository is on this machine. */
  is_cloned: boolean;
  /** Names as `user/library`. */
  libraries: readonly string[];
  documents: readonly LibraryDocument[];
  problems: readonly { file: string; problem: string }[];
}

/** The libraries of the server's project. */
export const librariesKey = new ServiceKey<Libraries>("libraries");

/** The documentation of the libraries that a project uses. Changes come one after the other. */
export interface Libraries {
  /** Only what was added. `name` (`library` or `user/library`) restricts it. Never throws. */
  load(name?: string): LoadedLibraries;
  /**
   * Adds a library; the first time the repository is cloned. Throws `not_found` when it has no such library, `conflict`
   * when several have this name, and what keeps the repository from being cloned.
   */
  add(name: string, signal: AbortSignal): Promise<LoadedLibraries>;
  /** Throws `not_found` when it was not added. */
  remove(name: string): Promise<LoadedLibraries>;
  /** Clones the repository again; when that fails, what was there stays. */
  refresh(signal: AbortSignal): Promise<LoadedLibraries>;
  /** The repository that is cloned from now on (`lib-proxy`); `null`: the default. Throws `invalid_parameter`. */
  setRepository(url: string | null): Promise<LoadedLibraries>;
}

/** Where the libraries of a workspace are kept. */
export interface LibrariesOptions {
  /** Absolute; outside of the workspace, so that no tool can write there. */
  dataDir: string;
  workspace: string;
  logger: Pick<Logger, "warn">;
  /** Default: https alone. */
  protocols?: readonly Protocol[];
  /** What the repository may take on the disk; it has a default. */
  limits?: CloneLimits;
}

const largestDocument = 256 * 1024;
/** Characters of all documents together. */
const mostCharacters = 1024 * 1024;

/** Opens the libraries of a workspace; nothing is cloned before one is added. */
export function createLibraries(options: LibrariesOptions): Libraries {
  const { dataDir, workspace, logger, protocols = ["https"], limits } = options;
  const folder = join(dataDir, "library-docs");
  const repository = join(folder, "repository");
  const settings = openLibrarySettings(join(folder, "libraries.json"), workspace, logger);
  const files = new ParsedFiles<{ text: string } | { problem: string }>({
    largest: largestDocument,
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
  /** One change after the other; a failed one does not block the next. */
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

/** Makes a folder anew beside the old one, which it replaces when it is whole. */
async function replaceFolder(folder: string, make: (place: string) => Promise<void>): Promise<void> {
  const parent = join(folder, "..");
  mkdirSync(parent, { recursive: true });
  // What a crash has left of an earlier try.
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
      if (characters > mostCharacters) {
        problems.push({
          file: path,
          problem: `it is not used: all together have more than ${mostCharacters} characters`,
        });
        return { documents, problems };
      }
      if (read.text !== "") documents.push({ library: library.name, path, text: read.text });
    }
  }
  return { documents, problems };
}
