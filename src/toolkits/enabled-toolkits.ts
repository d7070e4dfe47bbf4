import { AppError } from "@millrace/engine/errors/errors";
import { toolkits } from "./index.ts";
import type { Tool } from "../tools/runtime/tool.ts";
import type { Toolkit } from "./toolkit.ts";

/** In `MILLRACE_TOOLKITS`: the default toolkits, besides the named ones. */
const defaultWord = "default";

/**
 * The toolkits of a server, in the order of the list. `names` come from the configuration; empty: the default ones.
 * Throws `config` for an unknown name.
 */
export function enabledToolkits(names: readonly string[] = [], all: readonly Toolkit[] = toolkits): readonly Toolkit[] {
  const wanted = new Set(names.length === 0 ? [defaultWord] : names);
  const unknown = [...wanted].filter((name) => name !== defaultWord && !all.some((toolkit) => toolkit.name === name));
  if (unknown.length > 0) {
    throw new AppError("config", `MILLRACE_TOOLKITS names what is not there: ${unknown.join(", ")}.`, {
      suggestion: `Use names of this list, by commas: ${[defaultWord, ...all.map(({ name }) => name)].join(", ")}.`,
    });
  }
  return all.filter(
    ({ name, enabled }) =>
      enabled === "always" || wanted.has(name) || (enabled === "default" && wanted.has(defaultWord)),
  );
}

/**
 * The toolkits of a run: those it names and those that are always there, or all of the server. Throws
 * `invalid_parameter` for a name that is not among them.
 */
export function chosenToolkits(names: readonly string[] | undefined, enabled: readonly Toolkit[]): readonly Toolkit[] {
  if (names === undefined) return enabled;
  const unknown = names.filter((name) => !enabled.some((toolkit) => toolkit.name === name));
  if (unknown.length > 0) {
    const there = enabled.map(({ name }) => name).join(", ");
    throw new AppError("invalid_parameter", `This server has no toolkit ${unknown.join(", ")}; it has ${there}.`, {
      suggestion: "GET /toolkits lists them; the operator switches them on with MILLRACE_TOOLKITS.",
    });
  }
  return enabled.filter(({ name, enabled: when }) => when === "always" || names.includes(name));
}

/** The identity that goes with the toolkits a run names: the first of them that has one; `undefined`: none has. */
export function identityOfToolkits(
  names: readonly string[] | undefined,
  enabled: readonly Toolkit[],
): string | undefined {
  const named = (names ?? []).map((name) => enabled.find((toolkit) => toolkit.name === name));
  return named.find((toolkit) => toolkit?.identity !== undefined)?.identity?.profile;
}

/** Every tool that this program brings, by name. */
export function builtInTools(all: readonly Toolkit[] = toolkits): Readonly<Record<string, Tool>> {
  return Object.fromEntries(all.flatMap(({ tools }) => tools).map((tool) => [tool.name, tool]));
}
