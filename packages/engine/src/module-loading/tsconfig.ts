import { readFileSync } from "node:fs";
import { createPathsMatcher, findTsconfig, getTsconfig, type TsConfigResult } from "get-tsconfig";
import { jsonrepair } from "jsonrepair";
import { z } from "zod";
import { errorMessage } from "../errors/errors.ts";

/** What of a `tsconfig.json` changes how its files run. */
const CompilerOptions = z.looseObject({
  jsx: z.string().optional(),
  jsxFactory: z.string().optional(),
  jsxFragmentFactory: z.string().optional(),
  jsxImportSource: z.string().optional(),
  experimentalDecorators: z.boolean().optional(),
  emitDecoratorMetadata: z.boolean().optional(),
  strict: z.boolean().optional(),
  strictNullChecks: z.boolean().optional(),
  target: z.string().optional(),
  useDefineForClassFields: z.boolean().optional(),
  verbatimModuleSyntax: z.boolean().optional(),
});
export type CompilerOptions = z.infer<typeof CompilerOptions>;

/** What counts for a file: the options of the `tsconfig.json` next above it, with all that it extends. */
export interface FileSettings {
  options: CompilerOptions;
  /** The absolute paths that a module's name may mean by `paths` and `baseUrl`, without endings; none for most names. */
  aliases: (specifier: string) => string[];
}

const noSettings: FileSettings = { options: {}, aliases: () => [] };

/**
 * Reads the `tsconfig.json` of files, each once. A part of it that cannot be used (it extends what is not installed, or
 * itself) is left out and passed to `warn` once; the rest counts.
 */
export function createTsconfigReader(warn: (problem: string) => void): (folder: string) => FileSettings {
  const files = new Map<string, unknown>();
  const settings = new Map<string, FileSettings>();
  const read = (folder: string): FileSettings => {
    const found = nearest(folder, files, warn);
    if (found === null) return noSettings;
    const known = settings.get(found.path);
    if (known !== undefined) return known;
    const options = CompilerOptions.safeParse(found.config.compilerOptions ?? {});
    if (!options.success) warn(`${found.path}: ${z.prettifyError(options.error).replaceAll("\n", " ")}`);
    const made = { options: options.data ?? {}, aliases: createPathsMatcher(found) ?? noSettings.aliases };
    settings.set(found.path, made);
    return made;
  };
  const byFolder = new Map<string, FileSettings>();
  return (folder) => {
    const known = byFolder.get(folder) ?? read(folder);
    byFolder.set(folder, known);
    return known;
  };
}

function nearest(folder: string, files: Map<string, unknown>, warn: (problem: string) => void): TsConfigResult | null {
  try {
    return getTsconfig(folder, "tsconfig.json", files);
  } catch (error) {
    const path = findTsconfig(folder, "tsconfig.json", files);
    if (path === undefined) return null;
    const problem = `${path} counts without what it extends: ${errorMessage(error)}`;
    if (!files.has(problem)) warn(problem);
    files.set(problem, true);
    return { path, config: withoutBase(path) };
  }
}

/** The file alone, where what it extends cannot be read. It may have comments and commas too many. */
function withoutBase(path: string): TsConfigResult["config"] {
  try {
    const { compilerOptions = {} } = z
      .object({ compilerOptions: CompilerOptions.optional() })
      .parse(JSON.parse(jsonrepair(readFileSync(path, "utf8"))));
    // The type lists the values of each option; those that are used are checked where they are.
    return { compilerOptions: compilerOptions as NonNullable<TsConfigResult["config"]["compilerOptions"]> };
  } catch {
    // The warning was given already.
    return {};
  }
}
