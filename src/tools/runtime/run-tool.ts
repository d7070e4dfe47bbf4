import { setTimeout as delay } from "node:timers/promises";
import { jsonrepair } from "jsonrepair";
import type { z } from "zod";
import { isTransient } from "@millrace/engine/errors/error-strategy";
import { AppError, errorMessage, isAppError } from "@millrace/engine/errors/errors";
import type { Locks } from "./locks.ts";
import { convertParameters, parameterSchema } from "./parameters.ts";
import { isDeeperThan, isJsonObject } from "./nesting.ts";
import type { RateLimiter } from "@millrace/engine/concurrency/limits";
import { failure, toFailure, type ToolResult } from "./result.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { onAbort, unlessAborted } from "@millrace/engine/concurrency/abort";

/** Validated arguments, or the error result. */
export type PreparedCall = { kind: "ready"; input: Record<string, unknown> } | { kind: "invalid"; result: ToolResult };

/**
 * Parses, repairs, converts and validates raw arguments (an object, or the model's JSON text). Never throws; a failure
 * names the parameter and the expected form.
 */
export function prepareCall(tool: Tool, rawArguments: unknown): PreparedCall {
  if (!isJsonObject(rawArguments)) return prepare(tool, rawArguments);
  const known = prepared.get(rawArguments);
  if (known?.tool === tool) return known.call;
  const call = prepare(tool, rawArguments);
  prepared.set(rawArguments, { tool, call });
  return call;
}

/** By the arguments of a message, which do not change: a call is prepared for its ruling and again to run. */
const prepared = new WeakMap<object, { tool: Tool; call: PreparedCall }>();

function prepare(tool: Tool, rawArguments: unknown): PreparedCall {
  const read = readArguments(tool, rawArguments);
  if (read.kind === "invalid") return read;
  const asGiven = tool.schema.safeParse(read.input);
  if (asGiven.success) return { kind: "ready", input: asGiven.data };
  const given = convertParameters(tool, read.input);
  const parsed = tool.schema.safeParse(given);
  if (parsed.success) return { kind: "ready", input: parsed.data };
  return { kind: "invalid", result: explain(tool, given, parsed.error) };
}

/** Repairs a model's broken JSON; `undefined` if impossible. */
export function repairedArguments(tool: Tool, text: string): Record<string, unknown> | undefined {
  const read = readArguments(tool, text);
  return read.kind === "ready" ? read.input : undefined;
}

/** Maximum delay of a timer in milliseconds (25 days); longer ones fire at once. */
const maxTimerMs = 0x7fff_ffff;

/** The limits around one prepared call. */
export interface RunToolOptions {
  /** Time limit of one attempt; default the tool's. */
  timeoutSeconds?: number;
  /** Further attempts after the first, for pure tools only. Default 2. */
  retries?: number;
  locks: Locks;
  /** Calls of one session that may run at once. Default 3. */
  maxParallel?: number;
  /** Rate limit for calls of all sessions; absent: unlimited. */
  rate?: RateLimiter | undefined;
  /** Called before each retry, counted from 1. */
  onRetry?: (attempt: number, reason: string) => void;
  /** Waits between attempts; default a timer. */
  pause?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Runs a prepared call with its locks and time limit. Never throws: an abort gives `cancelled`, a time-out `timeout`,
 * and `conflict` if the locks were not free in time.
 */
export async function runTool(
  tool: Tool,
  input: Record<string, unknown>,
  context: ToolContext,
  options: RunToolOptions,
): Promise<ToolResult> {
  const seconds = options.timeoutSeconds ?? tool.timeoutSeconds;
  const retries = tool.effect === "pure" ? (options.retries ?? 2) : 0;
  const pause = options.pause ?? ((time, signal) => delay(time, undefined, { signal }));
  try {
    return await options.locks.withSlot(context.sessionId, options.maxParallel ?? 3, context.signal, async () => {
      for (let attempt = 1; ; attempt += 1) {
        await options.rate?.acquire(context.signal);
        const result = await attemptOnce(tool, input, context, seconds, options.locks);
        // Only tools without effects are retried (law 4); others have `retries` 0.
        const mayRepeat = result.errorType !== undefined && isTransient(result.errorType);
        if (!mayRepeat || attempt > retries || context.signal.aborted) return result;
        options.onRetry?.(attempt, result.message);
        await pause(200 * 2 ** (attempt - 1), context.signal);
      }
    });
  } catch (error) {
    return context.signal.aborted ? cancelled(tool) : toFailure(error);
  }
}

/** One attempt. Locks are held until the tool has really ended, even after its time-out: it may still be writing. */
async function attemptOnce(
  tool: Tool,
  input: Record<string, unknown>,
  context: ToolContext,
  seconds: number,
  locks: Locks,
): Promise<ToolResult> {
  const stop = new AbortController();
  const { signal } = stop;
  let isLate = false;
  const timer = setTimeout(
    () => {
      isLate = true;
      stop.abort();
    },
    Math.min(seconds * 1000, maxTimerMs),
  );
  const forget = onAbort(context.signal, () => stop.abort(context.signal.reason));
  let hasBegun = false;
  try {
    signal.throwIfAborted();
    const work = locks.withLocks(tool.resources(input, context), signal, async () => {
      // A stop may have come after the locks were granted; nothing may start then.
      signal.throwIfAborted();
      hasBegun = true;
      return tool.run(input, { ...context, signal });
    });
    return await unlessAborted(work, signal);
  } catch (error) {
    if (context.signal.aborted) return cancelled(tool);
    if (!isLate) return toFailure(error);
    return hasBegun
      ? failure(
          "timeout",
          `${tool.name} took longer than ${seconds} seconds and was stopped.`,
          "Ask for less at a time.",
        )
      : failure("conflict", `Other calls kept what ${tool.name} needs for ${seconds} seconds.`, "Try again later.");
  } finally {
    clearTimeout(timer);
    forget();
  }
}

function cancelled(tool: Tool): ToolResult {
  return failure("cancelled", `${tool.name} was stopped before it had finished.`);
}

/** Maximum nesting of arguments, for the ledger and checkpoints. */
const maxLevels = 100;

function readArguments(tool: Tool, raw: unknown): PreparedCall {
  let value: unknown = raw ?? {};
  if (typeof value === "string") {
    const text = value.trim();
    try {
      value = text === "" ? {} : parseOrRepair(tool, text);
    } catch (error) {
      const why = isAppError(error) ? error.message : `They are not valid JSON: ${errorMessage(error)}.`;
      return malformed(tool, why);
    }
  }
  if (isJsonObject(value)) {
    return isDeeperThan(maxLevels, value)
      ? malformed(tool, `They are nested more than ${maxLevels} levels deep.`)
      : { kind: "ready", input: value };
  }
  const came = Array.isArray(value) ? "a list" : `a ${typeof value}`;
  return malformed(tool, `A JSON object is expected, ${came} came.`);
}

/**
 * Parses JSON, with one repair. Cut-off text would be "repaired" into half a file's content, so only tools without
 * effects run on it.
 */
function parseOrRepair(tool: Tool, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (tool.effect !== "pure" && !/\}\s*(```)?$/.test(text)) {
      throw new AppError(
        "invalid_format",
        "They break off before the closing brace; probably the answer was too long.",
      );
    }
    return JSON.parse(jsonrepair(text));
  }
}

function malformed(tool: Tool, why: string): PreparedCall {
  const expected = JSON.stringify(parameterSchema(tool));
  const suggestion = `Call ${tool.name} again with a JSON object of this schema: ${expected}`;
  return { kind: "invalid", result: failure("invalid_format", `The arguments cannot be read. ${why}`, suggestion) };
}

function explain(tool: Tool, given: Record<string, unknown>, error: z.ZodError): ToolResult {
  const problems = error.issues.map((issue) => {
    const name = issue.path.join(".") || "(arguments)";
    const isMissing = issue.path.length === 1 && given[name] === undefined;
    const field: z.ZodType | undefined = Object.hasOwn(tool.schema.shape, name) ? tool.schema.shape[name] : undefined;
    const meaning = field?.description === undefined ? "" : ` (${field.description})`;
    return { name, isMissing, text: `"${name}"${meaning}: ${isMissing ? "is missing" : issue.message}` };
  });
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(tool.schema.shape, name));
  const isMissing = problems.some((problem) => problem.isMissing);
  const extra = unknown.length === 0 ? "" : ` It has no parameter ${unknown.map((name) => `"${name}"`).join(", ")}.`;
  const example = tool.example === undefined ? "Correct the call." : `Example: ${tool.example.body}`;
  const kind = isMissing ? "missing" : "wrong";
  const listed = problems.map((problem) => problem.text).join("; ");
  const message = `A parameter of ${tool.name} is ${kind}: ${listed}.${extra}`;
  return failure(isMissing ? "missing_parameter" : "invalid_parameter", message, example, {
    parameters: problems.map((problem) => problem.name),
  });
}
