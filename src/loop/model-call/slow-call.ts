/** Seconds until the first announcement, then between them. */
const firstAfter = 5;
const thenEvery = 10;

/** Runs `work` and reports its elapsed seconds while it takes long; nothing after its end. */
export async function reportingElapsed<T>(
  work: () => Promise<T>,
  report: (elapsedSeconds: number) => void,
): Promise<T> {
  let elapsed = firstAfter;
  let timer: NodeJS.Timeout;
  const announce = (): void => {
    report(elapsed);
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
