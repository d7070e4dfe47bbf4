import { deepEqual, equal, ok } from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelRequest, type ModelStep } from "@millrace/testing/model-server";
import { z } from "zod";
import type { ServerProcess } from "../../support/processes/server-process.ts";
import { follow, messagesOf, note, say } from "./demo-view.ts";

/** A turn that reads a file and writes another, streamed while it happens. Gives the thread for the next steps. */
export async function streamedTurn(server: ServerProcess, workspace: string): Promise<string> {
  const request = "read notes.md and write a summary to summary.md";
  say(1, "A streamed turn that reads and writes real files", request);
  const { client } = server;
  const thread = await client.threads.create({ metadata: { name: "Demo" } });
  const seen = await follow(
    client.runs.stream(thread.thread_id, "agent", {
      input: { messages: [{ role: "user", content: request }] },
      streamMode: ["messages-tuple", "custom"],
      streamSubgraphs: false,
    }),
  );
  ok(seen.pieces > 5, `the answer came in ${seen.pieces} piece(s), not streamed`);
  ok(seen.tools.includes("read_file"), `read_file was not called, but: ${seen.tools.join(", ")}`);
  const path = join(workspace, "summary.md");
  ok(existsSync(path), "summary.md was not written");
  ok(readFileSync(path, "utf8").trim().length > 0, "summary.md is empty");
  note(`summary.md now says: ${JSON.stringify(readFileSync(path, "utf8").slice(0, 120))}`);
  return thread.thread_id;
}

/** The deletion of a folder with files in it waits for a yes, and happens after it. */
export async function approveDeletion(server: ServerProcess, workspace: string, thread: string): Promise<void> {
  const request = "delete the folder drafts";
  say(2, "A deletion that waits for approval", request);
  const { client } = server;
  const folder = join(workspace, "drafts");
  await client.runs.wait(thread, "agent", { input: { messages: [{ role: "user", content: request }] } });
  const waiting = await client.threads.get(thread);
  equal(waiting.status, "interrupted", "the session should wait for an answer");
  ok(existsSync(join(folder, "one.md")), "the folder was deleted before anybody said yes");
  const [pending] = Object.values(waiting.interrupts).flat();
  const question = JSON.stringify(pending?.value);
  ok(question.includes("delete_file"), `the question should name the call: ${question}`);
  const { question: asked } = z.object({ question: z.string() }).parse(pending?.value);
  note(`The server asks: ${asked}`);
  note("Answer: approve.");
  await client.runs.wait(thread, "agent", { command: { resume: { decisions: [{ type: "approve" }] } } });
  ok(!existsSync(folder), "the folder is still there after the approval");
  equal((await client.threads.get(thread)).status, "idle");
  note("The folder is gone, and the session is idle.");
}

/** A run is killed between its two tool calls; after a restart the same run ends, and the first effect is not repeated. */
export async function killAndResume(server: ServerProcess, workspace: string, thread: string): Promise<void> {
  say(3, "kill -9 in the middle of a run", "write journal/first.md and journal/second.md (a scripted model)");
  const script = new KillScript();
  const model = await startModelServer({ handler: (request) => script.answer(request) });
  try {
    await server.stop();
    server.configure({ OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "demo" });
    await server.start();
    const run = await server.client.runs.create(thread, "agent", {
      input: { messages: [{ role: "user", content: "Write the journal." }] },
      context: { model: "openai:demo", mode: "free_work" },
    });
    await script.secondQuestion;
    const first = join(workspace, "journal", "first.md");
    const before = statSync(first, { bigint: true });
    ok(!existsSync(join(workspace, "journal", "second.md")), "the run was over before it could be killed");
    note(`Run ${run.run_id}: the first file is written, the model thinks about the second. kill -9 ${server.pid}`);
    await server.kill();
    script.proceed();
    await server.start();
    note(`Started again as process ${server.pid}.`);
    await server.client.runs.join(thread, run.run_id);
    const ended = await server.client.runs.get(thread, run.run_id);
    equal(ended.status, "success", "the same run should end well");
    equal(readFileSync(join(workspace, "journal", "second.md"), "utf8"), "second");
    const after = statSync(first, { bigint: true });
    deepEqual([after.ino, after.mtimeNs], [before.ino, before.mtimeNs], "the first file was written a second time");
    equal(script.firstQuestions, 1, "the run began again from its input");
    const calls = messagesOf(await server.client.threads.getState(thread)).filter(
      (message) => message.type === "tool" && message.text.includes("journal/first.md"),
    );
    equal(calls.length, 1, "the first call should have exactly one result");
    note("The same run ended; the first file was written once, the second after the restart.");
  } finally {
    script.proceed();
    await model.close();
  }
}

/** What the session has been through. */
export async function showHistory(server: ServerProcess, thread: string): Promise<void> {
  say(4, "The history of the session", `GET /threads/${thread}/history`);
  const states = await server.client.threads.getHistory(thread, { limit: 100 });
  const [newest] = states;
  ok(newest !== undefined && states.length > 10, `only ${states.length} checkpoints`);
  const messages = messagesOf(newest);
  const requests = messages.filter((message) => message.type === "human").map((message) => message.text);
  deepEqual(requests, [
    "read notes.md and write a summary to summary.md",
    "delete the folder drafts",
    "Write the journal.",
  ]);
  for (const { type, text, calls } of messages) {
    const words = text === "" ? `calls ${calls.join(", ")}` : text.replaceAll(/\s+/gu, " ").slice(0, 90);
    note(`${type.padEnd(6)} ${words}`);
  }
  note(`${states.length} checkpoints; each can be read, forked and gone on from.`);
}

/** The model of step 3: two files, one call at a time; it holds its second answer until the server has been killed. */
class KillScript {
  firstQuestions = 0;
  /** Settles when the run, with its first effect done, asks for the second. */
  readonly secondQuestion: Promise<void>;
  readonly #killed: Promise<void>;
  #asked = (): void => {};
  #release = (): void => {};

  constructor() {
    this.secondQuestion = new Promise((resolve) => (this.#asked = resolve));
    this.#killed = new Promise((resolve) => (this.#release = resolve));
  }

  /** Lets the held answer go. */
  proceed(): void {
    this.#release();
  }

  answer(request: ModelRequest): ModelStep {
    const turn = request.messages.slice(request.messages.findLastIndex((message) => message.role === "user"));
    const done = turn.filter((message) => message.role === "tool").length;
    if (done === 0) {
      this.firstQuestions += 1;
      return { toolCalls: [{ name: "create_file", arguments: { path: "journal/first.md", content: "first" } }] };
    }
    if (done > 1) return { text: "The journal is written." };
    this.#asked();
    const call = { name: "create_file", arguments: { path: "journal/second.md", content: "second" } };
    return { toolCalls: [call], hold: { after: 0, until: this.#killed } };
  }
}
