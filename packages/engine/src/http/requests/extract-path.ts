const Step = /\.?([^.[\]]+)|\[(-?\d+)\]/gu;

/**
 * What stands at a path such as `values.messages[-1].content`: keys by dots, places of lists in brackets, negative ones
 * from the end (`extract`). `null` where there is nothing.
 */
export function extractPath(value: unknown, path: string): unknown {
  let at: unknown = value;
  for (const [, key, index] of path.matchAll(Step)) {
    if (typeof at !== "object" || at === null) return null;
    if (index === undefined) at = new Map<string, unknown>(Object.entries(at)).get(key ?? "");
    else at = Array.isArray(at) ? at.at(Number(index)) : undefined;
  }
  return at ?? null;
}

/** Whether a path reads as one: nothing is left over between its steps. */
export function isPath(path: string): boolean {
  return path !== "" && path.replaceAll(Step, "") === "";
}
