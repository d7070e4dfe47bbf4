import { z } from "zod";
import { streamModes, type StreamMode } from "../../run-events.ts";
import type { HttpContext } from "../environment.ts";

const Names = z.array(z.string());

/**
 * The names under a key of the query; `undefined` without one. Several come by commas, as a repeated key (SDK 1.15), or
 * as a JSON array (SDK 2.0.0, which writes every value that is no text so).
 */
export function namesInQuery(context: HttpContext, key: string): string[] | undefined {
  const names = (context.req.queries(key) ?? []).flatMap(namesIn).filter((name) => name !== "");
  return names.length === 0 ? undefined : names;
}

/** The names in the query's `stream_mode`; `undefined` without one. */
export function namedModes(context: HttpContext): string[] | undefined {
  return namesInQuery(context, "stream_mode");
}

/** The known ones of the modes in the query: who names only others gets no data, who names none (`undefined`) gets all. */
export function knownModes(context: HttpContext): StreamMode[] | undefined {
  const names = namedModes(context);
  return names && streamModes.filter((mode) => names.includes(mode));
}

/** The paths of subgraphs in the query's `namespace`, where the root is the empty one; `undefined` without any. */
export function namespacesInQuery(context: HttpContext): string[] | undefined {
  return context.req.queries("namespace")?.flatMap((text) => (text.startsWith("[") ? namesIn(text) : [text]));
}

function namesIn(text: string): string[] {
  if (!text.startsWith("[")) return text.split(",");
  try {
    return Names.safeParse(JSON.parse(text)).data ?? [text];
  } catch {
    // No array after all: a mode that nobody knows.
    return [text];
  }
}
