/** The code of an error of the operating system, of node or of SQLite, such as `ENOENT`; empty where an error has none. */
export function systemCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** Whether an error carries one of these codes. */
export function hasCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes(systemCode(error));
}
