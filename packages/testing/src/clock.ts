import { vi } from "vitest";

/** Makes `performance.now` return this many milliseconds more, until the mocks are restored. */
export function showLater(milliseconds: number): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + milliseconds);
}
