import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "rolldown/utils";

/** The folder of the project, absolute. */
export const projectFolder = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

/** One source file, read with the bundler's own parser, so that a check sees what runs and not what looks like it. */
export interface SourceFile {
  /** From the project's folder, with slashes: `src/loop/route.ts`. */
  path: string;
  text: string;
  lines: number;
  /** What it imports, statically, dynamically or by re-export: `./route.ts`, `zod`, `node:fs`. */
  imports: string[];
  /** Those of them that are still there when types are stripped. */
  runtimeImports: string[];
  exports: { name: string; kind: "named" | "default" | "star"; isType: boolean; documented: boolean; text: string }[];
}

/** Whether a toolkit is in this copy: one that is deleted takes what is tested of it along. */
export function hasToolkit(name: string): boolean {
  return existsSync(join(projectFolder, "toolkits", name));
}

/** All files below `folder` (from the project's folder) whose name ends with `ending`, sorted. */
export function filesBelow(folder: string, ending = ".ts"): string[] {
  return readdirSync(join(projectFolder, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(projectFolder, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .toSorted();
}

/** All sources of the program: the app with its agent, the packages, and the toolkits. */
export function sourceFiles(): string[] {
  const packages = readdirSync(join(projectFolder, "packages")).map((name) => `packages/${name}/src`);
  const folders = ["src", ...packages, "toolkits"];
  return folders
    .filter((folder) => existsSync(join(projectFolder, folder)))
    .flatMap((folder) => filesBelow(folder))
    .filter((path) => !/^toolkits\/[^/]+\/tests\//u.test(path));
}

/** Reads one file of the project. Throws when it cannot be parsed. */
export function readSource(path: string): SourceFile {
  return parseSource(path, readFileSync(join(projectFolder, path), "utf8"));
}

/** Parses a text as if it were the file at `path`. */
export function parseSource(path: string, text: string): SourceFile {
  const { module, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message ?? "cannot be parsed"}`);
  const documentedAt = new Set(
    comments
      .filter((comment) => comment.type === "Block" && comment.value.startsWith("*"))
      .map((comment) => comment.end + (/^\s*/.exec(text.slice(comment.end))?.[0].length ?? 0)),
  );
  const exported = module.staticExports.flatMap((statement) =>
    statement.entries.map((entry) => ({
      name: entry.exportName.name ?? "",
      kind: entry.exportName.kind === "Name" ? ("named" as const) : exportKind(entry.exportName.kind),
      isType: entry.isType,
      // `export { a } from "./b.ts"` is documented where it is written.
      documented: documentedAt.has(statement.start) || entry.moduleRequest !== null,
      text: text.slice(statement.start, statement.end),
    })),
  );
  const typeImports = module.staticImports
    .filter(({ entries }) => entries.length > 0 && entries.every(({ isType }) => isType))
    .map(({ moduleRequest }) => moduleRequest.value);
  const runtimeImports = [
    ...module.staticImports
      .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
      .map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
    ),
    ...module.dynamicImports.flatMap(({ moduleRequest }) => {
      const literal = /^["'`](.*)["'`]$/.exec(text.slice(moduleRequest.start, moduleRequest.end));
      return literal?.[1] ?? [];
    }),
  ];
  const imports = [...new Set([...typeImports, ...runtimeImports])];
  return { path, text, lines: text.split("\n").length - 1, imports, runtimeImports, exports: exported };
}

/** The project file that an import means, relative or of a package of the project; `undefined` for other packages. */
export function importedFile(from: string, request: string): string | undefined {
  const [, name, rest] = /^@millrace\/([^/]+)\/(.+)$/.exec(request) ?? [];
  if (name !== undefined) return `packages/${name}/src/${rest}.ts`;
  return request.startsWith(".") ? posix.normalize(posix.join(posix.dirname(from), request)) : undefined;
}

function exportKind(kind: "Default" | "None"): "default" | "star" {
  return kind === "Default" ? "default" : "star";
}
