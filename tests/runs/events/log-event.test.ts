import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import type { CustomEvent } from "../../../src/events.ts";
import { createLogger, type Logger } from "@millrace/engine/logger";
import { logEvent } from "../../../src/agent-runs/log-event.ts";
import { runRecord } from "../../contract/records.ts";
import { startModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer } from "../../support/test-server.ts";

const Line = z.looseObject({ level: z.number(), time: z.number(), msg: z.string() });
const [debug, info, warn] = [20, 30, 40];

/** A logger whose lines can be read. */
function reading(level: string): { logger: Logger; lines: z.infer<typeof Line>[] } {
  const lines: z.infer<typeof Line>[] = [];
  return { lines, logger: createLogger(level, { write: (text) => void lines.push(Line.parse(JSON.parse(text))) }) };
}

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** One run with a tool call, and what the server logged of it. */
async function logged(level: string): Promise<z.infer<typeof Line>[]> {
  const call = { name: "create_file", arguments: { path: "note.txt", content: "private words" } };
  const model = await startModelServer({ script: [{ toolCalls: [call] }, { text: "Noted the private words." }] });
  closing.push(() => model.close());
  const { logger, lines } = reading(level);
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  const graphs = join(projectFolder, "langgraph.json");
  const server = await startTestServer({ graphs, openai, model: "openai:scripted" }, logger);
  closing.push(() => server.remove());
  const { thread_id } = await server.client.threads.create();
  const input = { messages: [{ role: "user", content: "Please note my private words" }] };
  await server.client.runs.wait(thread_id, "agent", { input, context: { mode: "free_work" } });
  return lines;
}

describe("the log of a run (LOG-01, LOG-03)", () => {
  it("has its changes of state and its tool calls with their results, each with time, level, run and session", async () => {
    const lines = await logged("debug");
    const of = (message: string) => lines.filter(({ msg }) => msg === message);
    expect(of("agentic_loop.state_changed").map(({ to_state }) => to_state)).toContain("executing");
    expect(of("orchestration_changed").map(({ to_state }) => to_state)).toContain("respond");
    expect(of("agentic_loop.tool_called")).toMatchObject([
      { level: debug, tool_name: "create_file", arguments: { path: "note.txt" }, run_id: expect.any(String) },
    ]);
    expect(of("agentic_loop.tool_result")).toMatchObject([{ level: debug, tool_name: "create_file", success: true }]);
    expect(of("tool_ended")).toMatchObject([{ level: info, tool: "create_file", duration_ms: expect.any(Number) }]);
    expect(of("agentic_loop.complete")).toMatchObject([{ level: info, end_reason: "answered" }]);
    expect(of("tool_status").map(({ status }) => status)).toEqual(["pending", "executing", "completed"]);
  });

  it("has none of the words of the user, the model and the calls above debug (LOG-02)", async () => {
    const lines = await logged("info");
    expect(lines.map(({ msg }) => msg)).toEqual(expect.arrayContaining(["tool_ended", "agentic_loop.complete"]));
    expect(JSON.stringify(lines)).not.toContain("private words");
  });

  it.each<[CustomEvent, Record<string, unknown>]>([
    [
      { type: "retry", what: "model", attempt: 2, reason: "private words" },
      { what: "model", attempt: 2 },
    ],
    [
      { type: "degraded", plan: "shorter_context", error_type: "context_overflow", reason: "private words" },
      { plan: "shorter_context", error_type: "context_overflow" },
    ],
    [{ type: "agentic_loop.error", error_type: "network", message: "private words" }, { error_type: "network" }],
  ])("warns of what is done about an error, without the words that may be in it: %j", (event, fields) => {
    const { logger, lines } = reading("info");
    const run = runRecord("run", "session");
    logEvent(logger, run, event);
    expect(lines).toMatchObject([{ level: warn, msg: event.type, run_id: "run", session_id: "session", ...fields }]);
    expect(JSON.stringify(lines)).not.toContain("private words");
  });
});

describe("a line of the log (LOG-01, LOG-02)", () => {
  it("has an error with type, message and stack", () => {
    const { logger, lines } = reading("info");
    logger.error({ err: new RangeError("too far") }, "failed");
    const err = { type: "RangeError", message: "too far", stack: expect.stringContaining("log-event.test") };
    expect(lines).toMatchObject([{ level: 50, msg: "failed", err }]);
  });

  it("never holds a key, also not among the arguments of a call", () => {
    const { logger, lines } = reading("debug");
    logger.debug(
      { arguments: { apiKey: "sk-1", path: "a" }, authorization: "sk-2", request: { headers: { cookie: "sk-3" } } },
      "call",
    );
    expect(JSON.stringify(lines)).not.toContain("sk-");
    expect(lines).toMatchObject([{ arguments: { apiKey: "[redacted]", path: "a" } }]);
    for (const field of ["apiKey", "api_key", "apiKeys", "authorization", "x-api-key", "cookie", "password", "token"]) {
      const { logger, lines } = reading("debug");
      logger.debug({ [field]: "sk-1", in: { [field]: "sk-2", it: { [field]: "sk-3" } } }, "call");
      expect(JSON.stringify(lines), field).not.toContain("sk-");
    }
  });
});
