import { readdirSync, type Dirent } from "node:fs";
import { basename, dirname, join } from "node:path";

/** A library in a repository of documentation, whose layout is `domain/user/library`. */
export interface Library {
  /** `user/library`. */
  name: string;
  folder: string;
}

/** Folders of one kind that are looked at, and documents of one library that are read. */
const mostFolders = 5000;
const mostDocuments = 200;
const deepest = 6;

/** The libraries of a repository, by name; of several domains with one name the first counts. */
export function librariesIn(repository: string): Library[] {
  const found = new Map<string, Library>();
  for (const domain of foldersIn(repository)) {
    for (const user of foldersIn(join(repository, domain))) {
      for (const library of foldersIn(join(repository, domain, user))) {
        const name = `${user}/${library}`;
        if (found.size < mostFolders && !found.has(name)) {
          found.set(name, { name, folder: join(repository, domain, user, library) });
        }
      }
    }
  }
  return [...found.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** The library of this name, without a look at the others: there may be thousands, and each turn asks. */
export function libraryIn(repository: string, name: string): Library | undefined {
  const places = foldersIn(repository).map((domain) => join(repository, domain, name));
  const folder = places.find((place) => foldersIn(dirname(place)).includes(basename(place)));
  return folder === undefined ? undefined : { name, folder };
}

/** Those that a text means: `library`, or `user/library`. */
export function librariesNamed(libraries: readonly Library[], name: string): Library[] {
  return libraries.filter((library) => library.name === name || library.name.endsWith(`/${name}`));
}

/** The Markdown files of a library, by path. Links are not followed. */
export function documentsOf({ folder }: Library): string[] {
  const found: string[] = [];
  const walk = (place: string, depth: number): void => {
    for (const entry of entriesOf(place)) {
      if (found.length === mostDocuments) return;
      const path = join(place, entry.name);
      if (entry.isDirectory() && depth < deepest) walk(path, depth + 1);
      else if (entry.isFile() && entry.name.endsWith(".md")) found.push(path);
    }
  };
  walk(folder, 0);
  return found;
}

function foldersIn(folder: string): string[] {
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map(({ name }) => name);
}

/** What is not there, or cannot be read, holds nothing. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).toSorted((left, right) => (left.name < right.name ? -1 : 1));
  } catch {
    return [];
  }
}
