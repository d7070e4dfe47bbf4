import { readdirSync, type Dirent } from "node:fs";
import { basename, dirname, join } from "node:path";

/** A library in a documentation repository with the layout `domain/user/library`. */
export interface Library {
  /** `user/library`. */
  name: string;
  folder: string;
}

/** Maximum folders scanned per level, and documents read per library. */
const maxFolders = 5000;
const maxDocuments = 200;
const deepest = 6;

/** The libraries of a repository by name; the first of several domains wins. */
export function librariesIn(repository: string): Library[] {
  const found = new Map<string, Library>();
  for (const domain of foldersIn(repository)) {
    for (const user of foldersIn(join(repository, domain))) {
      for (const library of foldersIn(join(repository, domain, user))) {
        const name = `${user}/${library}`;
        if (found.size < maxFolders && !found.has(name)) {
          found.set(name, { name, folder: join(repository, domain, user, library) });
        }
      }
    }
  }
  return [...found.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** One library by name, without scanning the others: there may be thousands, and it is called every turn. */
export function libraryIn(repository: string, name: string): Library | undefined {
  const places = foldersIn(repository).map((domain) => join(repository, domain, name));
  const folder = places.find((place) => foldersIn(dirname(place)).includes(basename(place)));
  return folder === undefined ? undefined : { name, folder };
}

/** Libraries matching `library`, or `user/library`. */
export function librariesNamed(libraries: readonly Library[], name: string): Library[] {
  return libraries.filter((library) => library.name === name || library.name.endsWith(`/${name}`));
}

/** A library's Markdown files by path. Links are not followed. */
export function documentsOf({ folder }: Library): string[] {
  const found: string[] = [];
  const walk = (place: string, depth: number): void => {
    for (const entry of entriesOf(place)) {
      if (found.length === maxDocuments) return;
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

/** A missing or unreadable folder counts as empty. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).toSorted((left, right) => (left.name < right.name ? -1 : 1));
  } catch {
    return [];
  }
}
