import { vi } from "vitest";

/** From now on `performance.now` shows so many milliseconds more, until the mocks are restored. */
export function showLater(milliseconds: number): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + milliseconds);
}
