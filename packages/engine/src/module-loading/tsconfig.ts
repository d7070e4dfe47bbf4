import { readFileSync } from "node:fs";
import { createPathsMatcher, findTsconfig, getTsconfig, type TsConfigResult } from "get-tsconfig";
import { jsonrepair } from "jsonrepair";
import { z } from "zod";
import { errorMessage } from "../errors/errors.ts";

/** Options of a `tsconfig.json` that affect how its files run. */
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

/** A file's settings: the options of the nearest `tsconfig.json`, with everything it extends. */
export interface FileSettings {
  options: CompilerOptions;
  /** The absolute paths a specifier may resolve to by `paths` and `baseUrl`, without extensions; none for most. */
  aliases: (specifier: string) => string[];
}

const noSettings: FileSettings = { options: {}, aliases: () => [] };

/**
 * Reads files' `tsconfig.json`, each once. An unusable part (extending something not installed, or itself) is ignored
 * and passed to `warn` once.
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

/** The file alone, if what it extends is unreadable. It may have comments and trailing commas. */
function withoutBase(path: string): TsConfigResult["config"] {
  try {
    const { compilerOptions = {} } = z
      .object({ compilerOptions: CompilerOptions.optional() })
      .parse(JSON.parse(jsonrepair(readFileSync(path, "utf8"))));
    // The type lists the values of each option; used options are checked where used.
    return { compilerOptions: compilerOptions as NonNullable<TsConfigResult["config"]["compilerOptions"]> };
  } catch {
    // The warning was given already.
    return {};
  }
}
