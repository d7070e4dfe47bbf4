import { resolve } from "node:path";
import { z } from "zod";
import { environmentVariable } from "@millrace/engine/config/config";
import { AppError } from "@millrace/engine/errors/errors";
import { readManifest } from "@millrace/engine/manifest/manifest";
import { loadExport } from "@millrace/engine/manifest/user-module";
import { loadError, openUserModules } from "@millrace/engine/module-loading/hooks";
import type { Toolkit } from "./toolkit.ts";

const List = z.array(z.unknown());

/** What `defineToolkit` gives, as far as it can be seen. */
const Defined = z.looseObject({
  name: z.string().regex(/^[a-z][\w-]*$/u, "a name of small letters"),
  tools: List,
  templates: List,
  collectors: List,
  guardrails: List,
  workflow: z.looseObject({}),
});

/**
 * The toolkits that `millrace.toolkits` of the served langgraph.json names. Throws `config` for one that cannot be used or
 * has the name of another.
 */
export async function addedToolkits(own: readonly Toolkit[]): Promise<Toolkit[]> {
  const path = resolve(environmentVariable("MILLRACE_GRAPHS") ?? "langgraph.json");
  // The start reports problems of the file.
  const manifest = await readManifest(path).catch(() => undefined);
  if (manifest === undefined || manifest.toolkits.length === 0) return [];
  const { folder, toolkits } = manifest;
  openUserModules(folder);
  const taken = new Set(own.map(({ name }) => name));
  const added: Toolkit[] = [];
  for (const reference of toolkits) {
    const part = `millrace.toolkits ${reference}`;
    const toolkit = await loadExport(folder, reference).catch((error: unknown) => {
      throw loadError(part, error);
    });
    const { success, data, error } = Defined.safeParse(toolkit);
    if (!success) {
      throw new AppError("config", `${part} is no toolkit: ${z.prettifyError(error)}`, {
        suggestion: 'Export what defineToolkit of "millrace/toolkit" gives.',
      });
    }
    if (taken.has(data.name)) {
      throw new AppError("config", `${part}: there is already a toolkit of the name ${data.name}.`, {
        suggestion: "Give it another name.",
      });
    }
    taken.add(data.name);
    // Its parts are functions and schemas, which only defineToolkit's types can check.
    added.push(toolkit as Toolkit);
  }
  return added;
}
