import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { readEffects } from "../harness/effect-log.ts";
import { noneOf, type Scenario } from "../harness/scenario.ts";
import { answer } from "../harness/script.ts";
import { beginSubject, settled, type Subject } from "../harness/subject.ts";
import { call, newThread, openWorld, startRun, type World } from "../harness/world.ts";

const budget = 3;
const beside = 4;
const fatal = "please end the process";
/** More starts than a working budget can need. */
const maxStarts = 12;

/** A run whose tool ends the process each time is set aside, and the others are served (reliability R5). */
export const crashLoop: Scenario = {
  name: "crash_loop",
  async run({ long }) {
    const rounds = long ? 5 : 1;
    const problems: string[] = [];
    for (let round = 0; round < rounds; round += 1) problems.push(...(await crashRound()));
    return [noneOf("rounds in which the run was not set aside, or others were not served", problems, rounds)];
  },
};

async function crashRound(): Promise<string[]> {
  const world = await openWorld(answerFatal);
  try {
    await serveExiting(world);
    const subjects: Subject[] = [];
    for (let index = 0; index < beside; index += 1) subjects.push(await beginSubject(world, "long", `beside${index}`));
    const threadId = await newThread(world.server);
    const { run_id: runId } = await startRun(world.server, threadId, {
      assistant_id: "exiting",
      input: { messages: [{ role: "user", content: fatal }] },
      stream_resumable: true,
    });
    const restarts = await restartUntilServed(world);
    const end = await settled(world, { threadId, runId }, 10_000);
    const streamed = JSON.stringify(
      (await call(world.server, "GET", `/threads/${threadId}/runs/${runId}/stream`)).body,
    );
    const attempts = readEffects(world.effectsFile).get("exit_process it")?.begun ?? 0;
    const problems: string[] = [];
    if (end?.status !== "error") problems.push(`the run ended with ${end?.status} after ${restarts} restarts`);
    if (!streamed.includes("crash_loop"))
      problems.push(`its readers do not receive crash_loop: ${streamed.slice(-300)}`);
    if (attempts !== budget) problems.push(`it was attempted ${attempts} times`);
    // The session of the run that was set aside takes the next message.
    const next = await startRun(world.server, threadId, {
      assistant_id: "one",
      input: { messages: [{ role: "user", content: "please do single next" }] },
    });
    subjects.push({ shape: "single", item: "next", threadId, runId: next.run_id });
    subjects.push(await beginSubject(world, "single", "afterwards"));
    for (const subject of subjects) {
      const other = await settled(world, subject, 10_000);
      if (other?.status !== "success" || other.waiting) problems.push(`${subject.item} ended with ${other?.status}`);
    }
    return problems.length === 0 ? [] : [problems.join("; ")];
  } finally {
    await world.close();
  }
}

function answerFatal(request: ModelRequest): ModelStep {
  const isFatal = request.messages.some(({ role, content }) => role === "user" && content === fatal);
  return isFatal ? { toolCalls: [{ name: "exit_process", arguments: { item: "it" } }] } : answer(request);
}

const GraphFile = z.object({ graphs: z.record(z.string(), z.string()) });

/** Adds the graph of this scenario to those of the world. */
async function serveExiting({ folder, server }: World): Promise<void> {
  const file = join(folder, "langgraph.json");
  const { graphs } = GraphFile.parse(JSON.parse(await readFile(file, "utf8")));
  graphs["exiting"] = `${join(projectFolder, "tests/faults/harness/exiting.ts")}:exiting`;
  await writeFile(file, JSON.stringify({ graphs }));
  await server.stop();
  await server.start();
}

/** What a supervisor does: starts the server again as often as it ends; the number of its ends. */
async function restartUntilServed({ server }: World): Promise<number> {
  for (let ends = 0; ends < maxStarts; ends += 1) {
    if (await staysUp(server.url)) return ends;
    await server.start().catch((error: unknown) => {
      // It took the run up, and went down with it, before it could answer.
      if (!String(error).includes("ended with SIGKILL")) throw error;
    });
  }
  return maxStarts;
}

/** Whether a server answers for two seconds. */
async function staysUp(url: string): Promise<boolean> {
  for (let asked = 0; asked < 40; asked += 1) {
    const answers = await fetch(`${url}/ok`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (!answers) return false;
    await delay(50);
  }
  return true;
}
