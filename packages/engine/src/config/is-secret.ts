/** Whether a variable holds what nobody may see, and nothing may let out: its name says so. */
export function isSecret(name: string): boolean {
  return /_(?:KEYS?|SECRET)$/u.test(name);
}
