import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { withTimeout } from "@millrace/engine/concurrency/abort";
import { createSemaphore } from "@millrace/engine/concurrency/limits";
import { isAppError } from "@millrace/engine/errors/errors";
import { createProgress } from "../../../src/loop/progress.ts";
import { createModelLoader, type ModelLoader } from "@millrace/models/load-model";
import { openModels } from "@millrace/models/registry/registry";
import { refusingAddress } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../../support/workflow.ts";
import { startFaultServer, startSilentServer, type FaultServer, type Wire } from "./fault-server.ts";
import { beginning, faults, type Fault, type Outcome } from "./fault-table.ts";

/** Milliseconds in which every case has to end. */
const deadline = 10_000;

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-faults-"));
  // Long enough for a good answer on a busy machine.
  const short = "{ connect_seconds: 1, first_token_seconds: 1, idle_seconds: 1, total_seconds: 3 }";
  await writeFile(join(folder, "models.yaml"), `models:\n  openai:slow*: ${short}\n  ollama:slow: ${short}\n`);
});
afterAll(async () => await rm(folder, { recursive: true, force: true }));

async function serverFor(fault: Fault): Promise<{ server: FaultServer; address: string }> {
  if (fault.address === "silent-tls") {
    const server = await startSilentServer();
    return { server, address: server.address };
  }
  const server = await startFaultServer(fault.play, { text: "All is well again." });
  switch (fault.address) {
    case "refusing":
      return { server, address: await refusingAddress() };
    case "unknown":
      // Too long for a name, so no server is asked.
      return { server, address: `http://${"a".repeat(64)}.invalid` };
    case "tls":
      return { server, address: server.address.replace("http:", "https:") };
    default:
      return { server, address: server.address };
  }
}

function loaderFor(address: string): ModelLoader {
  const config = loadConfig({
    OPENAI_BASE_URL: `${address}/v1`,
    OPENAI_API_KEY: "sk-secret-1234567",
    OLLAMA_BASE_URL: address,
    MILLRACE_DATA_DIR: folder,
  });
  const models = openModels(config, { error: (problem: unknown) => expect.unreachable(JSON.stringify(problem)) });
  return createModelLoader(config, { models });
}

/** OpenAI's client asks a Codex through `/responses`. */
function modelFor(wire: Wire, name: string): string {
  return wire === "responses" ? `openai:${name}-codex` : `${wire}:${name}`;
}

interface Ending {
  outcome: Outcome;
  /** What the session holds of the answer. */
  kept: string;
  isPartial: boolean;
  /** The other ways in which the model was asked. */
  degraded: string[];
  events: string;
}

async function sendThrough(flow: TestWorkflow, model: string): Promise<Ending> {
  const context = { mode: "free_work", model, limits: { agentic_connection_retries: 0, max_force_continue: 1 } };
  const thrown = await flow.send("Write half.txt for me", context).then(
    () => undefined,
    (error: unknown) => {
      if (isAppError(error)) return error;
      throw error;
    },
  );
  const failure = flow.events.findLast((event) => event.type === "agentic_loop.error");
  const last = (await flow.state()).messages.at(-1);
  const code = thrown?.code ?? (failure?.type === "agentic_loop.error" ? failure.error_type : "answered");
  return {
    // Of the loop's own errors only those of the model have these names.
    outcome: code as Outcome,
    kept: last?.getType() === "ai" ? last.text : "",
    isPartial: last?.additional_kwargs["is_partial"] === true,
    degraded: flow.events.flatMap((event) => (event.type === "degraded" ? [event.plan] : [])),
    events: JSON.stringify(flow.events),
  };
}

const cases = (["openai", "responses", "ollama"] as const).flatMap((wire) =>
  [true, false].flatMap((isStreamed) => faults.map((fault) => ({ wire, isStreamed, fault, name: fault.name }))),
);
const titled = cases.map((one) => ({
  ...one,
  title: `${one.wire}, ${one.isStreamed ? "streamed" : "whole"}: ${one.name}`,
}));

type Case = (typeof titled)[number];

async function play({ wire, isStreamed, fault }: Case): Promise<void> {
  const { server, address } = await serverFor(fault);
  const flow = await startWorkflow({ stream: isStreamed });
  try {
    flow.services.loadModel = loaderFor(address);
    flow.services.progress = createProgress();
    const ending = await sendThrough(flow, modelFor(wire, fault.isSlow === true ? "slow" : "steady"));
    const isAskedWhole = isStreamed && fault.isUnstreamable === true;
    const outcome = typeof fault.outcome === "function" ? fault.outcome(wire, isStreamed) : fault.outcome;
    const expected = isAskedWhole ? "answered" : outcome;
    expect(ending.outcome).toBe(expected);
    expect(ending.degraded).toEqual(isAskedWhole ? ["without_streaming"] : []);
    expect(ending.events).not.toContain("1234567");
    expect(existsSync(join(flow.workspace, "half.txt")), "a tool ran on half of its arguments").toBe(false);
    const isBroken = fault.isBegun === true && expected !== "answered";
    expect(ending.isPartial).toBe(isBroken && isStreamed);
    if (isBroken && isStreamed) {
      expect(ending.kept.startsWith(beginning)).toBe(true);
      expect([...flow.streamed.values()]).toContain(ending.kept);
    }
  } finally {
    await Promise.all([flow.close(), server.close()]);
  }
}

/** Cases that end by a time-out mostly wait, so a few of them wait side by side while the others run one by one. */
const places = { slow: createSemaphore(4), quick: createSemaphore(1) };
const never = new AbortController().signal;
/** For a case and those that it waits for; each of them has its own `deadline`. */
const whole = 50 * deadline;

describe("what goes wrong on the way to a model ends in a named outcome, in time", () => {
  it.concurrent.each(titled)(
    "$title",
    async (one) => {
      const late = (): never => expect.unreachable(`not over after ${deadline} ms`);
      const free = one.fault.isSlow === true ? places.slow : places.quick;
      await free.run(never, async () => await withTimeout(play(one), deadline, late));
    },
    whole,
  );

  it("is tried in at least 240 cases", () => {
    expect(faults.length).toBeGreaterThanOrEqual(40);
    expect(cases).toHaveLength(faults.length * 6);
  });
});
