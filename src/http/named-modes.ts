import { z } from "zod";
import type { HttpContext } from "./environment.ts";

const Names = z.array(z.string());

/**
 * The names in the query's `stream_mode`; `undefined` without one. Several come by commas, as a repeated key (SDK 1.15), or as
 * a JSON array (SDK 2.0.0, which writes every value that is no text so).
 */
export function namedModes(context: HttpContext): string[] | undefined {
  const names = (context.req.queries("stream_mode") ?? []).flatMap(namesIn).filter((name) => name !== "");
  return names.length === 0 ? undefined : names;
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
