/** Where in a value stands what JSON cannot hold, and what it is; `undefined` where all of it has a text. */
export function jsonProblem(
  value: unknown,
  path: readonly string[] = [],
  above: readonly unknown[] = [],
): string | undefined {
  const name = path.join(".");
  if (typeof value === "bigint" || typeof value === "function" || typeof value === "symbol") {
    return `${name} is a ${typeof value}`;
  }
  if (typeof value !== "object" || value === null || "toJSON" in value) return undefined;
  if (above.includes(value)) return `${name} is an object that it stands in`;
  const entries = Object.entries(value);
  // All that a Map or a Promise is would be lost in silence.
  if (entries.length === 0 && !isPlain(value)) return `${name} is a ${value.constructor.name}`;
  for (const [key, part] of entries) {
    const problem = jsonProblem(part, [...path, key], [...above, value]);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
