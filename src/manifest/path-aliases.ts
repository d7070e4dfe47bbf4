import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { jsonrepair } from "jsonrepair";
import { z } from "zod";

const TsConfig = z.looseObject({
  compilerOptions: z
    .looseObject({ baseUrl: z.string().optional(), paths: z.record(z.string(), z.array(z.string())).optional() })
    .optional(),
});

/** The paths that a module's name may mean by `compilerOptions.paths`, most particular first; none for most names. */
export type PathAliases = (specifier: string) => string[];

interface Alias {
  before: string;
  after: string;
  isPattern: boolean;
  targets: string[];
}

/** The aliases of the folder's `tsconfig.json`; without one, or with one that cannot be read, there are none. */
export function aliasesOf(folder: string): PathAliases {
  let aliases: Alias[] | undefined;
  return (specifier) => {
    aliases ??= readAliases(folder);
    return aliases.flatMap((alias) => targetsOf(alias, specifier));
  };
}

function readAliases(folder: string): Alias[] {
  const options = readOptions(join(folder, "tsconfig.json"));
  const base = resolve(folder, options?.baseUrl ?? ".");
  return Object.entries(options?.paths ?? {})
    .map(([pattern, targets]) => {
      const [before = "", after] = pattern.split("*", 2);
      const absolute = targets.map((target) => resolve(base, target));
      return { before, after: after ?? "", isPattern: after !== undefined, targets: absolute };
    })
    .toSorted((one, other) => other.before.length - one.before.length);
}

function readOptions(path: string): z.infer<typeof TsConfig>["compilerOptions"] {
  try {
    // The file may have comments and commas too many.
    return TsConfig.parse(JSON.parse(jsonrepair(readFileSync(path, "utf8")))).compilerOptions;
  } catch {
    // Aliases are a convenience: what they would have named is told as a module that is not there.
    return undefined;
  }
}

function targetsOf({ before, after, isPattern, targets }: Alias, specifier: string): string[] {
  if (!isPattern) return specifier === before ? targets : [];
  const isMatch =
    specifier.length >= before.length + after.length && specifier.startsWith(before) && specifier.endsWith(after);
  if (!isMatch) return [];
  const middle = specifier.slice(before.length, specifier.length - after.length);
  return targets.map((target) => target.replace("*", () => middle));
}
