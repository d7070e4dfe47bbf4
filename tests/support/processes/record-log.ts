import { Writable } from "node:stream";
import { z } from "zod";
import { createLogger, type Logger } from "@millrace/engine/logger";

/** A logger, and the lines that it was given. */
export function recordLog(): { logger: Logger; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const Line = z.record(z.string(), z.unknown());
  const write = (text: Buffer, _encoding: string, done: () => void): void => {
    lines.push(Line.parse(JSON.parse(text.toString())));
    done();
  };
  return { logger: createLogger("info", new Writable({ write })), lines };
}
