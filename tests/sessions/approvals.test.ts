import { agentRuns } from "../../src/agent-runs/agent-run.ts";
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { isAppError } from "@millrace/engine/errors/errors";
import { workflow } from "../../src/graph/workflow.ts";
import { createLogger } from "@millrace/engine/logger";
import type { SharedRunServices } from "../../src/loop/services.ts";
import { createModelLoader } from "@millrace/models/load-model";
import { ModelRegistry } from "@millrace/models/registry/registry";
import { offline } from "@millrace/offline/offline";
import { Runs } from "@millrace/engine/runs/runs";
import { answerApproval, listApprovals } from "@millrace/engine/sessions/questions/approvals";
import { readQuestion, resumeValue, type ApprovalDecision } from "@millrace/engine/sessions/questions/questions";
import type { Session } from "@millrace/engine/storage/records";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { withAttempts } from "../support/test-storage.ts";
import type { Ledger } from "@millrace/engine/storage/attempt-store";
import { createLocks } from "../../src/tools/runtime/locks.ts";
import { createSession, never, request, serve } from "../runs/fixtures.ts";
import { toolkitParts } from "../support/toolkit-services.ts";

describe("a decision", () => {
  const confirmation = readQuestion({
    actionRequests: [
      { name: "one", args: { a: 1 } },
      { name: "two", args: {} },
    ],
    reviewConfigs: [{ actionName: "two", allowedDecisions: ["approve", "reject"] }],
  });

  it("answers every action of LangChain's request", () => {
    expect(resumeValue(confirmation, { type: "reject", message: "no" })).toEqual({
      decisions: [
        { type: "reject", message: "no" },
        { type: "reject", message: "no" },
      ],
    });
  });

  it("is refused where the question does not take it", () => {
    expect(() => resumeValue(confirmation, { type: "edit", args: {} })).toThrow("takes");
    expect(() => resumeValue(readQuestion("How deep?"), { type: "approve" })).toThrow("answer");
    expect(() => resumeValue(confirmation, { type: "answer", value: 1 })).toThrow("not answer");
  });

  it("can be made about any value a graph asks with", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const question = readQuestion(value);
        expect(typeof question.kind).toBe("string");
        if (question.actions.length === 0) expect(resumeValue(question, { type: "answer", value: 1 })).toBe(1);
      }),
    );
  });
});

/** What one step of a random walk does; numbers pick among what is there. */
const Step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("ask" as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("answer" as const),
      which: fc.nat(5),
      type: fc.constantFrom("approve" as const, "approve" as const, "reject" as const, "edit" as const),
      stop: fc.boolean(),
      twice: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("grow" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
);

/** A server's inside on a file of its own, with a folder to delete for every question. */
class World {
  readonly #place = realpathSync(mkdtempSync(join(tmpdir(), "millrace-approvals-")));
  readonly workspace = join(this.#place, "workspace");
  /** Files in each folder that was asked about. */
  readonly entries = new Map<string, number>();
  /** `path entries` of every yes that was taken. */
  readonly approved = new Set<string>();
  readonly ids: string[] = [];
  /** How often a call on a path has come to an end with an effect. */
  readonly effects = new Map<string, number>();
  #storage = createSqliteStorage(join(this.#place, "millrace.db"));
  #runs = this.#open();
  session: Session | undefined;

  #open(): Runs {
    const services: SharedRunServices = {
      ledger: this.#storage.ledger,
      ...toolkitParts(this.workspace, this.#storage.tasks),
      workspace: this.workspace,
      grants: (sessionId) => this.#storage.approvals.grants(sessionId),
      locks: createLocks(),
      defaultModel: "offline",
      contextLimit: undefined,
      loadModel: createModelLoader(loadConfig({}), {
        models: new ModelRegistry(loadConfig({}), { others: { offline } }),
      }),
    };
    const logger = createLogger("silent");
    const storage = withAttempts(this.#storage, ({ ledger }) => ({ ledger: this.#counting(ledger) }));
    return new Runs({
      storage,
      graphs: serve({ agent: workflow.compile() }, this.#storage.checkpointer),
      logger,
      extension: agentRuns({ storage, logger, services }),
      maxConcurrent: 4,
      retryDelay: 1,
    });
  }

  #counting(ledger: Ledger): Ledger {
    return {
      ...ledger,
      finish: async (sessionId, id, result) => {
        const { success, data } = result as { success: boolean; data?: { path: string } };
        if (success && data !== undefined) this.effects.set(data.path, (this.effects.get(data.path) ?? 0) + 1);
        await ledger.finish(sessionId, id, result);
      },
    };
  }

  get services() {
    return { storage: this.#storage, runs: this.#runs, timeoutHours: undefined };
  }

  async begin(): Promise<void> {
    mkdirSync(this.workspace);
    this.session = await createSession(this.#storage);
  }

  async #current(): Promise<Session> {
    const session = await this.#storage.sessions.get(this.session?.session_id ?? "");
    if (session === undefined) throw new Error("the session is gone");
    return session;
  }

  async ask(): Promise<void> {
    const path = `folder${this.entries.size}`;
    mkdirSync(join(this.workspace, path));
    writeFileSync(join(this.workspace, path, "0"), "");
    this.entries.set(path, 1);
    const input = { messages: [{ role: "user", content: `delete the folder ${path}` }] };
    await this.#runs.start(await this.#current(), request("agent", { input, multitask_strategy: "enqueue" }));
    await this.settle();
  }

  /** Answers some question that was ever asked; checks that each answer says what it must. */
  async answer(which: number, decision: ApprovalDecision): Promise<void> {
    const id = this.ids[which % Math.max(1, this.ids.length)];
    const session = await this.#current();
    if (id === undefined) return;
    const before = await this.#storage.approvals.get(session.session_id, id);
    const operation = readQuestion(before?.value).operation;
    try {
      const { approval, repeated } = await answerApproval(this.services, session.session_id, id, decision);
      assert.equal(approval.state, "answered");
      if (repeated || decision.type === "reject" || operation?.type !== "DeleteFolder") return;
      this.approved.add(`${operation.path} ${operation.entries}`);
    } catch (error) {
      if (!isAppError(error)) throw error;
      assert.deepEqual([error.code, before?.state], ["conflict", "stale"]);
    }
  }

  grow(): void {
    for (const [path, count] of this.entries) {
      if (!existsSync(join(this.workspace, path))) continue;
      writeFileSync(join(this.workspace, path, String(count)), "");
      this.entries.set(path, count + 1);
    }
  }

  stop(): Promise<void> {
    return this.#runs.cancelSession(this.session?.session_id ?? "");
  }

  async settle(): Promise<void> {
    const { session_id } = await this.#current();
    for (const run of await this.#runs.list(session_id, { limit: 100, offset: 0 }))
      await this.#runs.wait(run.run_id, never);
    for (const { interrupt_id } of await listApprovals(this.services, session_id)) {
      if (!this.ids.includes(interrupt_id)) this.ids.push(interrupt_id);
    }
  }

  async restart(): Promise<void> {
    await this.#runs.drain(0);
    await this.#storage.close();
    this.#storage = createSqliteStorage(join(this.#place, "millrace.db"));
    this.#runs = this.#open();
    await this.#runs.recover();
    await this.settle();
  }

  /** At most once, and never without an approval of exactly what was there. */
  check(): void {
    for (const [path, count] of this.entries) {
      assert.ok((this.effects.get(path) ?? 0) <= 1, `${path} was deleted more than once`);
      if (existsSync(join(this.workspace, path))) continue;
      assert.ok(this.approved.has(`${path} ${count}`), `${path} with ${count} was deleted without an approval`);
    }
  }

  async close(): Promise<void> {
    await this.#runs.drain(0);
    await this.#storage.close();
    rmSync(this.#place, { recursive: true, force: true });
  }
}

describe("approvals", () => {
  it("run a call at most once and never without an approval, in any order of questions, answers, stops and restarts", async () => {
    let deleted = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(Step, { minLength: 4, maxLength: 10 }), async (steps) => {
        const world = new World();
        try {
          await world.begin();
          await world.ask();
          for (const step of steps) {
            if (step.do === "ask") await world.ask();
            else if (step.do === "grow") world.grow();
            else if (step.do === "restart") await world.restart();
            else {
              const decision: ApprovalDecision =
                step.type === "edit" ? { type: "edit", args: { path: "nothing-here" } } : { type: step.type };
              await world.answer(step.which, decision);
              if (step.twice) await world.answer(step.which, { type: "approve" });
              if (step.stop) await world.stop();
              await world.settle();
            }
            world.check();
          }
          deleted += world.effects.size;
        } finally {
          await world.close();
        }
      }),
      { numRuns: 40 },
    );
    // The walk is about something: some of the answers were used.
    expect(deleted).toBeGreaterThan(3);
  }, 90_000);
});
