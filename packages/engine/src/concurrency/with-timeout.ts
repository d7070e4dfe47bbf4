/**
 * What `work` comes to, or after so many milliseconds what `late` gives or throws. The work itself goes on; a failure
 * that nobody waits for any more is not an unhandled one.
 */
export async function withTimeout<Result, Late>(
  work: Promise<Result>,
  milliseconds: number,
  late: () => Late,
): Promise<Result | Late> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, milliseconds);
  try {
    return await Promise.race([work, over.promise.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
