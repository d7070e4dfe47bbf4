import * as z from "zod/mini";
import { keepText, readText, valueOf } from "../../app/kept/texts.ts";

/** The inputs that were sent to a graph on this device, the newest first. */

const prefix = "inputs.";
const maxInputs = 20;
/** Maximum characters of an input that is kept. */
const maxLength = 20_000;

/** What was sent to a graph before; nothing where it cannot be read. */
export function earlierInputs(graphId: string): unknown[] {
  return valueOf(readText(prefix + graphId), z.array(z.unknown())) ?? [];
}

/** Keeps an input; one that was sent before comes to the front. */
export function keepInput(graphId: string, input: unknown): void {
  const text = JSON.stringify(input);
  if (text === undefined || text.length > maxLength) return;
  const others = earlierInputs(graphId).filter((one) => JSON.stringify(one) !== text);
  keepText(prefix + graphId, JSON.stringify([input, ...others].slice(0, maxInputs)));
}
