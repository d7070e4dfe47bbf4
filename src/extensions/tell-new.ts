/**
 * Told all problems of this moment, it hands on those that were not among the last ones: what lasts is told once, and
 * what comes back is told again.
 */
export function createTellNew<Problem extends object>(
  tell: (problem: Problem) => void,
): (problems: readonly Problem[]) => void {
  let known = new Set<string>();
  return (problems) => {
    const before = known;
    known = new Set(problems.map((problem) => JSON.stringify(problem)));
    for (const problem of problems) if (!before.has(JSON.stringify(problem))) tell(problem);
  };
}
