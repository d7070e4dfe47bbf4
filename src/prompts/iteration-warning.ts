/** The hurry-up note from the tenth iteration on (GUARD-05). */
export function iterationWarning({ used, left }: { used: number; left: number }): string {
  return `Note: ${used} rounds are used, ${left} are left. Finish the essential part now and answer.`;
}
