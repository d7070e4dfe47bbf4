import { agentRuns } from "../../src/agent-runs/agent-run.ts";
import { END, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { AppError } from "@millrace/engine/errors/errors";
import { createLogger } from "@millrace/engine/logger";
import { Runs } from "@millrace/engine/runs/runs";
import { createLocks } from "../../src/tools/runtime/locks.ts";
import { createTestStorage } from "../support/test-storage.ts";
import { createSession, never, request, serve, State } from "./fixtures.ts";
import { toolkitParts } from "../support/toolkit-services.ts";

/** What is logged of a run whose only step throws. */
async function logOf(thrown: Error): Promise<unknown[][]> {
  const lines: unknown[][] = [];
  const storage = createTestStorage();
  const graph = new StateGraph(State)
    .addNode("breaks", () => {
      throw thrown;
    })
    .addEdge(START, "breaks")
    .addEdge("breaks", END)
    .compile();
  const services = {
    ledger: storage.ledger,
    ...toolkitParts("/", storage.tasks),
    workspace: "/",
    locks: createLocks(),
    defaultModel: "offline",
    contextLimit: 1000,
    loadModel: () => {
      throw new Error("no model is asked");
    },
  };
  const graphs = serve({ breaks: graph }, storage.checkpointer);
  const logger = Object.assign(createLogger("silent"), { warn: (...line: unknown[]) => void lines.push(line) });
  const extension = agentRuns({ storage, logger, services });
  const runs = new Runs({ storage, graphs, logger, extension, maxConcurrent: 1, retryDelay: 1 });
  const session = await createSession(storage);
  const run = await runs.start(session, request("breaks"));
  await runs.wait(run.run_id, never);
  return lines;
}

describe("the log of a failed run", () => {
  it("has what exactly happened, and not the cause, in which a provider may repeat a key", async () => {
    const cause = new Error("401 sk-very-secret");
    const error = new AppError("auth", "The model refused the key (401).", { suggestion: "Check the key.", cause });
    const lines = await logOf(error);
    expect(lines).toEqual([
      [
        {
          error: "auth",
          message: "The model refused the key (401). Check the key.",
          run_id: expect.any(String),
          session_id: expect.any(String),
        },
        "run_failed",
      ],
    ]);
    expect(JSON.stringify(lines)).not.toContain("sk-very-secret");
  });

  it("has an unexpected error as a whole", async () => {
    const bug = new TypeError("cannot read that");
    expect(await logOf(bug)).toEqual([[expect.objectContaining({ err: bug }), "run_failed"]]);
  });
});
