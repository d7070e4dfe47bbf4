import { setFlagsFromString } from "node:v8";
import { currentConfig, type Config } from "../config/config.ts";
import { explain, isAppError } from "../errors/errors.ts";
import { returnIdleMemory } from "./idle-memory.ts";
import { createLogger, type Logger } from "../logger.ts";
import { exitProcess, guardProcess } from "./process-guard.ts";

/** What a process runs: something that listens somewhere, and can be closed. */
interface Running {
  url: string;
  /** Whether nothing is under way that a pause of some tenths of a second would hold up. */
  isIdle(): boolean;
  close(): Promise<void>;
}

/**
 * The program: starts by the environment, where `defaults` stand for variables that nobody has set, says where it
 * listens, and drains on SIGTERM or SIGINT; a second one exits at once.
 */
export async function runProgram(
  start: (config: Config, logger: Logger) => Promise<Running>,
  defaults?: Record<string, string>,
): Promise<void> {
  // The heap may grow by two fifths between two collections instead of doubling: the same speed in half the memory.
  setFlagsFromString("--heap-growing-percent=40");
  try {
    const config = currentConfig(defaults);
    const logger = createLogger(config.logLevel);
    guardProcess(logger, fail);
    const server = await start(config, logger);
    const endReturn = returnIdleMemory(() => server.isIdle());
    let stopping = false;
    const stop = (signal: NodeJS.Signals): void => {
      if (stopping) exitProcess(1);
      stopping = true;
      endReturn();
      logger.info({ signal, drain_seconds: config.drainSeconds }, "stopping");
      server.close().then(
        () => exitProcess(0),
        (error: unknown) => fail(error),
      );
    };
    // Before those of users' modules, which may throw.
    process.prependListener("SIGTERM", stop);
    process.prependListener("SIGINT", stop);
    process.stdout.write(`Millrace listens on ${server.url}\n`);
  } catch (error) {
    fail(error);
  }
}

function fail(error: unknown): never {
  const text = isAppError(error)
    ? explain(error)
    : error instanceof Error
      ? (error.stack ?? error.message)
      : String(error);
  process.stderr.write(`Millrace could not go on. ${text}\n`);
  exitProcess(1);
}
