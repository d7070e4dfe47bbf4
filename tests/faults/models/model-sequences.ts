import { existsSync } from "node:fs";
import { join } from "node:path";
import { historyProblem } from "@millrace/testing/model-server-script";
import { startPlayServer, type FaultServer } from "../../models/faults/fault-server.ts";
import type { ModelSequence } from "./model-plans.ts";
import { settled } from "../harness/subject.ts";
import { readRunStream } from "../harness/run-stream.ts";
import { newThread, readMessages, startRun, textOf, type World } from "../harness/world.ts";

/** Milliseconds within which a run has to end; its own time is less. */
const patience = 40_000;
/** Characters that a text must exceed to be kept as a message (STOP-08). */
const longestDropped = 50;
const lastWords = "All is well again.";
/** The file of every call that is cut in half, or only looks whole. */
const halfFile = "half.txt";

/** What is wrong after some sequences, by kind, and what they came to. */
export interface SequenceFindings {
  unended: string[];
  lost: string[];
  halfCalls: string[];
  invalid: string[];
  unanswered: string[];
  /** How often each fault was played, and runs ended. */
  played: Map<string, number>;
  ends: Map<string, number>;
  /** Texts of broken or whole answers that were compared with what is stored. */
  compared: number;
}

/** Nothing found yet. */
export function nothingFound(): SequenceFindings {
  const counts = { played: new Map<string, number>(), ends: new Map<string, number>(), compared: 0 };
  return { unended: [], lost: [], halfCalls: [], invalid: [], unanswered: [], ...counts };
}

/** A model server that answers each model as its sequence plans, and judges what it is asked. */
export async function startPlannedModels(
  sequences: readonly ModelSequence[],
  findings: SequenceFindings,
): Promise<FaultServer> {
  const answers = new Map(
    sequences.flatMap((sequence) => [...sequence.answers]).map(([name, all]) => [name, [...all]]),
  );
  return await startPlayServer((exchange) => {
    const { asked, wire } = exchange;
    const problem = wire !== "ollama" ? historyProblem(asked.messages) : undefined;
    if (problem !== undefined) findings.invalid.push(`${asked.body.model}: ${problem}`);
    const next = answers.get(asked.body.model)?.shift();
    if (next === undefined) {
      exchange.answer({ text: lastWords });
      return undefined;
    }
    findings.played.set(next.name, (findings.played.get(next.name) ?? 0) + 1);
    return next.play(exchange);
  });
}

/** Plays one sequence on a thread of its own, and checks the result of each turn. */
export async function playSequence(world: World, sequence: ModelSequence, findings: SequenceFindings): Promise<void> {
  const { index, model, fallback } = sequence;
  const threadId = await newThread(world.server);
  for (const [turn, { isStreamed, retries, hasFallback }] of sequence.turns.entries()) {
    const limits = {
      agentic_connection_retries: retries,
      timeout_seconds: 20,
      max_iterations: 6,
      max_force_continue: 1,
    };
    await playTurn(
      world,
      `sequence ${index}, turn ${turn}`,
      { threadId, isStreamed, findings },
      {
        model,
        limits,
        ...(hasFallback ? { fallback_model: fallback } : {}),
      },
    );
    if (existsSync(join(world.workspace, halfFile))) findings.halfCalls.push(`sequence ${index}, turn ${turn}`);
  }
  const where = `sequence ${index}, last turn`;
  await playTurn(world, where, { threadId, isStreamed: true, findings }, { model: "openai:well", limits: {} });
  const last = (await readMessages(world.server, threadId)).at(-1);
  if (last?.type !== "ai" || textOf(last) !== lastWords) {
    findings.unanswered.push(`${where}: ${JSON.stringify(last?.content)}`);
  }
}

async function playTurn(
  world: World,
  where: string,
  { threadId, isStreamed, findings }: { threadId: string; isStreamed: boolean; findings: SequenceFindings },
  context: object,
): Promise<void> {
  const { server } = world;
  const { run_id: runId } = await startRun(server, threadId, {
    assistant_id: "agent",
    input: { messages: [{ role: "user", content: "Please write half.txt for me" }] },
    context: { mode: "free_work", ...context },
    stream_mode: isStreamed ? ["messages-tuple", "custom"] : ["values"],
    stream_subgraphs: true,
    stream_resumable: true,
  });
  const given = AbortSignal.timeout(patience);
  const stream = readRunStream(`${server.url}/threads/${threadId}/runs/${runId}/stream`, given);
  const end = await settled(world, { threadId, runId }, patience);
  findings.ends.set(end?.status ?? "none", (findings.ends.get(end?.status ?? "none") ?? 0) + 1);
  if (end === undefined || end.waiting || end.status === "missing") {
    findings.unended.push(`${where}: ${JSON.stringify(end)}`);
    return;
  }
  const over = await stream.over;
  if (over.kind !== "complete") findings.unended.push(`${where}: its stream ended ${JSON.stringify(over)}`);
  const messages = await readMessages(server, threadId);
  for (const [id, { content }] of stream.messages) {
    if (Array.from(content).length <= longestDropped) continue;
    findings.compared += 1;
    const stored = messages.find((message) => message.id === id);
    if (stored === undefined || textOf(stored) !== content) {
      findings.lost.push(`${where}: "${content.slice(0, 60)}" (${content.length}) is not stored so`);
    }
  }
}
