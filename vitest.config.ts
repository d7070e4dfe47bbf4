import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";
import { failuresReports } from "./tests/support/setup/failures-report.ts";
import { LongFilesFirst } from "./tests/support/setup/long-files-first.ts";

/** Tests that start servers as processes, break them, or measure a process: each file needs a process of its own. */
const system = [
  "tests/models/text-calls/coverage.test.ts",
  // How deep V8 goes back in a regular expression depends on what the process has run before.
  "toolkits/documents/tests/read/damaged.test.ts",
  // These set the clock forward, and the clock of events never goes back.
  "tests/crons/cron-clock.test.ts",
  "tests/http/requests/default-times.test.ts",
  "tests/http/threads/thread-ttl.test.ts",
  "tests/runs/{recovery/durable,events/event-clock,recovery/recover}.test.ts",
  "tests/sessions/approval-sweep.test.ts",
];

/** Vitest would take an order of ours before the one that `--sequence.shuffle` asks for. */
const isShuffled = process.argv.some((word) => word.startsWith("--sequence.shuffle"));

export default defineConfig({
  test: {
    sequence: isShuffled ? {} : { sequencer: LongFilesFirst },
    reporters: ["default", ...failuresReports()],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A busy machine is slow; a test says what comes, not when.
    expect: { poll: { timeout: 20_000 } },
    // Vitest would keep one core for itself, which is half of a small machine, and needs next to nothing. One more than there
    // are cores, since tests wait for a fifth of their time: for programs, browsers and timers.
    maxWorkers: availableParallelism() + 1,
    // Tests that only wait, wait side by side.
    maxConcurrency: 50,
    globalSetup: ["tests/support/setup/temporary-files.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "fast",
          include: ["tests/**/*.test.ts", "toolkits/*/tests/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...system],
          // Files share what is imported, which takes longer than most tests.
          isolate: false,
          globalSetup: [
            "tests/support/setup/temporary-files.ts",
            "tests/support/setup/own-packages.ts",
            "tests/support/setup/postgres.ts",
          ],
          setupFiles: ["tests/support/setup/restore-environment.ts", "tests/support/setup/seed.ts"],
        },
      },
      { extends: true, test: { name: "system", include: system, setupFiles: ["tests/support/setup/seed.ts"] } },
    ],
  },
});
