import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Vitest would keep one core for itself, which is half of a small machine, and needs next to nothing.
    maxWorkers: availableParallelism(),
  },
});
