/** When a call counts as slow, and how often it says so from then on. Seconds. */
const firstAfter = 5;
const thenEvery = 10;

/**
 * Runs `work`, and tells how many seconds it has taken as soon as it takes long, then again and again: a reader sees
 * that the call is still at work. Says nothing after its end.
 */
export async function announcing<T>(work: () => Promise<T>, tell: (elapsedSeconds: number) => void): Promise<T> {
  let elapsed = firstAfter;
  let timer: NodeJS.Timeout;
  const announce = (): void => {
    tell(elapsed);
    elapsed += thenEvery;
    timer = setTimeout(announce, thenEvery * 1000);
  };
  timer = setTimeout(announce, firstAfter * 1000);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
