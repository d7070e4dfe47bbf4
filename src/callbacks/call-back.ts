import type { Callback, CallbackPoint, CallbackPoints } from "./callback.ts";

/** Tells every callback of a point. Nobody waits for them. */
export type CallBack = <Point extends CallbackPoint>(point: Point, told: CallbackPoints[Point]) => void;

/**
 * Calls the callbacks in their order, each also when another has failed. What one throws or rejects with goes to
 * `onProblem` and is felt by nobody else.
 */
export function createCallBack(
  callbacks: readonly Callback[],
  onProblem: (problem: { callback: string; point: CallbackPoint; err: unknown }) => void,
): CallBack {
  return (point, told) => {
    for (const callback of callbacks) {
      const failed = (err: unknown): void => onProblem({ callback: callback.name, point, err });
      try {
        // A callback takes at each point what is told there; the union of all points cannot say so.
        const watch = callback[point] as ((told: CallbackPoints[typeof point]) => void | Promise<void>) | undefined;
        watch?.(told)?.catch(failed);
      } catch (error) {
        failed(error);
      }
    }
  };
}
