import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that are short and take long, since they start programs and browsers. */
const startsPrograms = /\/tests\/(?:bin|console|e2e)\/|\/(?:demo|recipes)\.test\.ts$/u;

/**
 * Begins with the files that start programs. Vitest goes by the sizes of files where it has not seen them run, as in CI, and would
 * leave some of a minute for the end, when there is nothing else to do beside them.
 */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => startsPrograms.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
