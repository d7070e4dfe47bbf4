import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { SerializedError } from "vitest";
import type { Reporter, TestModule } from "vitest/node";

const maxMessageLength = 300;

/** The report of failures, if `FAILURES_REPORT` names a file for it, as `.ci/run` does. */
export function failuresReports(): Reporter[] {
  const file = process.env["FAILURES_REPORT"];
  return file === undefined ? [] : [failuresReport(file)];
}

/**
 * Writes a JSON file with how many tests `passed` and what failed: tests, what broke before or around them (imports, hooks, a
 * worker that died), and errors that no test caught. Each is one line: its full name, the first line of its error, and where it
 * was thrown.
 */
function failuresReport(file: string): Reporter {
  return {
    onTestRunEnd(modules, unhandled) {
      const tests = modules.flatMap((module) => [...module.children.allTests("passed")]);
      const failures = modules.flatMap((module) => failuresOf(module));
      failures.push(...unhandled.map((error) => `Unhandled error: ${described(error)}`));
      writeFileSync(file, JSON.stringify({ passed: tests.length, failures }));
    },
  };
}

function failuresOf(module: TestModule): string[] {
  const file = module.relativeModuleId;
  const failures = module.errors().map((error) => `${file}: ${described(error)}`);
  // What a worker had not finished when it died has no error of its own.
  if (module.state() === "pending" || module.state() === "queued") failures.push(`${file}: did not finish`);
  for (const suite of module.children.allSuites()) {
    failures.push(...suite.errors().map((error) => `${file} > ${suite.fullName}: ${described(error)}`));
  }
  for (const test of module.children.allTests("failed")) {
    failures.push(`${file} > ${test.fullName}: ${described(test.result().errors?.[0])}`);
  }
  return failures;
}

function described(error: SerializedError | undefined): string {
  // Of a worker that died, only the cause says how.
  const message = stripVTControlCharacters(error?.cause?.message ?? error?.message ?? "no message");
  const first = (message.split("\n", 1)[0] ?? "").slice(0, maxMessageLength);
  const place = error?.stacks?.[0];
  return place === undefined ? first : `${first} (${relative(process.cwd(), place.file)}:${place.line})`;
}
